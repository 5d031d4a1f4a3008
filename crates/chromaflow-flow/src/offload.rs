//! Steps on a device in place of this process's threads, and who then has the newest state.

/// Who has the newest state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest {
    Both,
    Host,
    Device,
}

/// A device `D` that computes a solver's steps, if there is one.
///
/// What the host changes the device takes before its next step ([`Self::push`]); what the device changes the host gets
/// when somebody asks ([`Self::sync`]), and until then must not look at its own copy ([`Self::assert_synced`]).
pub(crate) struct Offload<D: ?Sized> {
    device: Option<Box<D>>,
    newest: Newest,
}

impl<D: ?Sized> Offload<D> {
    /// No device: the host computes.
    pub const NONE: Self = Self { device: None, newest: Newest::Both };

    /// `device` is to compute from now on, from the host's state. Followed by [`Self::keep_if`].
    #[cfg(any(feature = "cuda", test))]
    pub fn start(&mut self, device: Box<D>) {
        *self = Self { device: Some(device), newest: Newest::Host };
    }

    /// Keeps the device if it is `ready`, has taken the state and whatever else it needs; the host goes on computing
    /// otherwise.
    ///
    /// # Errors
    /// That of `ready`.
    #[cfg(any(feature = "cuda", test))]
    pub fn keep_if<E>(&mut self, ready: Result<(), E>) -> Result<(), E> {
        if ready.is_err() {
            *self = Self::NONE;
        }
        ready
    }

    /// The device.
    pub fn device(&self) -> Option<&D> {
        self.device.as_deref()
    }

    /// The device, for what leaves the state as it is.
    pub fn device_mut(&mut self) -> Option<&mut D> {
        self.device.as_deref_mut()
    }

    /// The device, which is about to change the state.
    pub fn device_changes(&mut self) -> Option<&mut D> {
        let device = self.device.as_deref_mut()?;
        self.newest = Newest::Device;
        Some(device)
    }

    /// The host is about to change the state, which the device then has to take.
    pub fn host_changes(&mut self) {
        if self.device.is_some() {
            self.newest = Newest::Host;
        }
    }

    /// Has the device take the state where the host has changed it.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn push<E>(&mut self, take: impl FnOnce(&mut D) -> Result<(), E>) -> Result<(), E> {
        self.settle(Newest::Host, |device| take(device)).map(|_| ())
    }

    /// Has the device give the state where it has changed it; whether it did.
    ///
    /// # Errors
    /// Those of `give`.
    pub fn sync<E>(&mut self, give: impl FnOnce(&D) -> Result<(), E>) -> Result<bool, E> {
        self.settle(Newest::Device, |device| give(device))
    }

    /// Copies the newest state to the other side, if `from` alone has it.
    fn settle<E>(&mut self, from: Newest, copy: impl FnOnce(&mut D) -> Result<(), E>) -> Result<bool, E> {
        let Some(device) = self.device.as_deref_mut().filter(|_| self.newest == from) else {
            return Ok(false);
        };
        copy(device)?;
        self.newest = Newest::Both;
        Ok(true)
    }

    /// # Panics
    /// When only the device has the present state.
    pub fn assert_synced(&self) {
        assert!(self.newest != Newest::Device, "the state is on the device: call the solver's sync first");
    }
}

#[cfg(test)]
mod tests {
    use super::Offload;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const ROOM: u32 = 100;

    /// A device with room for numbers up to [`ROOM`].
    #[derive(Default)]
    struct Doubler(u32);

    impl Doubler {
        fn take(&mut self, value: u32) -> Result<(), &'static str> {
            self.0 = Some(value).filter(|&v| v <= ROOM).ok_or("too large")?;
            Ok(())
        }

        fn give(&self, value: &mut u32) -> Result<(), &'static str> {
            *value = Some(self.0).filter(|&v| v <= ROOM).ok_or("lost")?;
            Ok(())
        }
    }

    /// A number that is doubled in each step, here or there.
    struct Number {
        value: u32,
        doubler: Offload<Doubler>,
    }

    impl Number {
        fn new(value: u32) -> Self {
            Self { value, doubler: Offload::NONE }
        }

        fn use_doubler(&mut self) -> Result<(), &'static str> {
            self.doubler.start(Box::default());
            let ready = self.doubler.push(|device| device.take(self.value));
            self.doubler.keep_if(ready)
        }

        fn step(&mut self) -> Result<(), &'static str> {
            self.doubler.push(|device| device.take(self.value))?;
            match self.doubler.device_changes() {
                Some(device) => device.0 *= 2,
                None => self.value *= 2,
            }
            Ok(())
        }

        fn sync(&mut self) -> Result<bool, &'static str> {
            self.doubler.sync(|device| device.give(&mut self.value))
        }

        fn set(&mut self, value: u32) {
            self.doubler.host_changes();
            self.value = value;
        }
    }

    #[test]
    fn whoever_changes_the_state_has_the_newest() {
        let mut number = Number::new(1);
        number.set(2);
        number.step().unwrap();
        assert_eq!((number.sync(), number.value), (Ok(false), 4), "there is no device");
        number.use_doubler().unwrap();
        number.doubler.assert_synced();
        number.step().unwrap();
        assert_eq!(number.value, 4, "computed there");
        assert!(catch_unwind(AssertUnwindSafe(|| number.doubler.assert_synced())).is_err());
        assert_eq!((number.sync(), number.sync(), number.value), (Ok(true), Ok(false), 8));
        number.doubler.assert_synced();
        number.set(5);
        assert_eq!(number.sync(), Ok(false), "the host's is newer");
        number.step().unwrap();
        number.step().unwrap();
        assert_eq!((number.sync(), number.value), (Ok(true), 20));
    }

    #[test]
    fn a_device_that_cannot_take_the_state_is_dropped() {
        let mut number = Number::new(ROOM + 1);
        assert_eq!(number.use_doubler(), Err("too large"));
        assert!(number.doubler.device().is_none());
        number.step().unwrap();
        assert_eq!((number.sync(), number.value), (Ok(false), 2 * (ROOM + 1)), "computed here");
    }

    #[test]
    fn a_copy_that_fails_changes_nothing() {
        let mut number = Number::new(1);
        number.use_doubler().unwrap();
        number.set(ROOM + 1);
        assert_eq!(number.step(), Err("too large"));
        number.doubler.assert_synced();
        number.set(ROOM);
        number.step().unwrap();
        assert_eq!((number.sync(), number.value), (Err("lost"), ROOM));
        assert!(catch_unwind(AssertUnwindSafe(|| number.doubler.assert_synced())).is_err());
    }
}
