#![allow(unsafe_code)]
//! CPU time of the process.

use std::time::Duration;

/// CPU time of all threads of this process so far; time in which other work had the cores does not count. None where
/// the system does not say (only 64-bit Linux is asked).
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    {
        #[repr(C)]
        struct TimeSpec {
            seconds: i64,
            nanoseconds: i64,
        }
        unsafe extern "C" {
            fn clock_gettime(clock: i32, time: *mut TimeSpec) -> i32;
        }
        const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
        let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
        // SAFETY: `time` is the C struct timespec of 64-bit Linux, valid for writing.
        let status = unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        (status == 0).then(|| Duration::new(time.seconds as u64, time.nanoseconds as u32))
    }
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn work_takes_cpu_time_and_sleep_does_not() {
        let at = || cpu_time().unwrap();
        let start = at();
        let mut x = 0.0_f64;
        while at() < start + Duration::from_millis(2) {
            x = std::hint::black_box(x + 1.0);
        }
        assert!(x > 0.0);
    }
}
