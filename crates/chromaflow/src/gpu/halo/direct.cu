// The first step of sweeps that pass rows themselves, steps without rows to pass, and the last wait (direct.cuh).
extern "C" __global__ void __launch_bounds__(32) post_step(Posts) {
    __shared__ mail::Desk desk;
    mail::delay();
    mail::prepare(desk, mail_of, step);
    __syncthreads();
    mail::tell(desk, 32);
}

// All rows of the last step are here; the next launch counts on from this one.
extern "C" __global__ void __launch_bounds__(32) end_steps(Posts) {
    __shared__ mail::Desk desk;
    mail::prepare(desk, mail_of, step + 1);
    __syncthreads();
    mail::wait(mail_of, desk);
    if (threadIdx.x == 0) *mail_of->base += step + 1;
}
