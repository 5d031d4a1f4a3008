// The first step of sweeps that pass rows themselves, steps without rows to pass, and the last wait (direct.cuh).
extern "C" __global__ void __launch_bounds__(32) post_step(Posts) {
    mail::delay();
    if (threadIdx.x == 0) mail::tell(mail_of, step);
}

// All rows of the last step are here; the next launch counts on from this one.
extern "C" __global__ void __launch_bounds__(32) end_steps(Posts) {
    mail::wait(mail_of, step);
    if (threadIdx.x == 0) *mail_of->base += step + 1;
}
