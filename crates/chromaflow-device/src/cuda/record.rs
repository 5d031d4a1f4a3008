//! A kernel's arguments as one record: named and typed in Rust, its parameter list emitted from there to CUDA C++.

use super::{DeviceBuffer, DeviceSlice};
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;

/// The arguments of a kernel, or some of them that several kernels take, made by [`kernel_record!`](crate::kernel_record).
pub trait Record: Parameter {
    /// The record's name, and that of the macro that stands for the parameters in CUDA C++.
    const NAME: &'static str;

    /// What a source needs before a kernel may say `kernel(NAME)`.
    fn declaration() -> String {
        format!("#define {} {}\n", Self::NAME, Self::declare(""))
    }
}

/// Some records: a tuple of them.
pub trait Records {
    /// What a source needs before kernels may take them.
    fn declarations() -> String;
}

macro_rules! tuples {
    ($($first:ident $($rest:ident)*)?) => { $(
        impl<$first: Record, $($rest: Record),*> Records for ($first, $($rest,)*) {
            fn declarations() -> String {
                $first::declaration() $(+ &$rest::declaration())*
            }
        }
        tuples!($($rest)*);
    )? };
}
tuples!(A B C D E F G H I J);

/// A type of arguments: a number, a pointer, or a record of some.
pub trait Parameter: Copy {
    /// So many parameters of the kernel.
    const COUNT: usize;
    /// How CUDA C++ declares the parameter `name`, or those of the record.
    fn declare(name: &str) -> String;
    /// Gives `push` the bits and bytes of each in order.
    fn each(&self, push: &mut dyn FnMut(u64, usize));
}

macro_rules! numbers {
    ($($t:ty, $c:literal, |$v:ident| $bits:expr;)*) => { $(impl Parameter for $t {
        const COUNT: usize = 1;
        fn declare(name: &str) -> String {
            format!("{} {name}", $c)
        }
        fn each(&self, push: &mut dyn FnMut(u64, usize)) {
            let $v = *self;
            push($bits, size_of::<$t>());
        }
    })* };
}
numbers! {
    u32, "unsigned int", |v| u64::from(v);
    i32, "int", |v| u64::from(v as u32);
    u64, "unsigned long long", |v| v;
    i64, "long long", |v| v as u64;
    f32, "float", |v| u64::from(v.to_bits());
    f64, "double", |v| v.to_bits();
}

/// What pointers of a record point to, by its name in CUDA C++.
pub trait Element {
    /// The name.
    const C: &'static str;
    /// The numbers of the buffers that such elements lie in.
    type Stored: Pod;
}

/// Implements [`Element`] for types with their names in CUDA C++ and the numbers that they lie in, for structs of kernels (`struct`)
/// with types of their names made here.
#[macro_export]
macro_rules! kernel_elements {
    ($($t:ty: $c:literal in $stored:ty),* $(,)?) => { $(
        impl $crate::cuda::Element for $t {
            const C: &'static str = $c;
            type Stored = $stored;
        }
    )* };
    ($($(#[$doc:meta])* $vis:vis struct $name:ident: $c:literal in $stored:ty);* $(;)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        $crate::kernel_elements!($name: $c in $stored);
    )* };
}
kernel_elements!(
    u8: "char" in u8,
    i32: "int" in i32,
    u32: "unsigned int" in u32,
    u64: "unsigned long long" in u64,
    f32: "float" in f32,
    f64: "double" in f64,
    [u32; 2]: "uint2" in u32,
    [u32; 4]: "uint4" in u32,
    (): "void" in u8,
);

macro_rules! pointers {
    ($($(#[$doc:meta])* $name:ident, $before:literal, $after:literal;)*) => { $(
        $(#[$doc])*
        pub struct $name<T>(u64, PhantomData<T>);

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:#x})", stringify!($name), self.0)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T: Element> Parameter for $name<T> {
            const COUNT: usize = 1;
            fn declare(name: &str) -> String {
                format!("{}{}{}{name}", $before, T::C, $after)
            }
            fn each(&self, push: &mut dyn FnMut(u64, usize)) {
                push(self.0, 8);
            }
        }

        impl<T> $name<T> {
            /// No array.
            pub const NONE: Self = Self(0, PhantomData);

            /// A device address of values that are what the kernel was compiled for.
            pub fn at(address: u64) -> Self {
                Self(address, PhantomData)
            }

            /// That address.
            pub fn address(self) -> u64 {
                self.0
            }
        }

        impl<T: Element> From<&DeviceBuffer<T::Stored>> for $name<T> {
            fn from(buffer: &DeviceBuffer<T::Stored>) -> Self {
                Self::at(buffer.ptr())
            }
        }

        impl<T: Element> From<&mut DeviceBuffer<T::Stored>> for $name<T> {
            fn from(buffer: &mut DeviceBuffer<T::Stored>) -> Self {
                Self::at(buffer.ptr())
            }
        }

        impl<T: Element> From<DeviceSlice<'_, T::Stored>> for $name<T> {
            fn from(slice: DeviceSlice<'_, T::Stored>) -> Self {
                Self::at(slice.ptr())
            }
        }

        impl<T: Element> From<&DeviceSlice<'_, T::Stored>> for $name<T> {
            fn from(slice: &DeviceSlice<'_, T::Stored>) -> Self {
                Self::at(slice.ptr())
            }
        }

        impl<T: Element> From<Option<&DeviceBuffer<T::Stored>>> for $name<T> {
            fn from(buffer: Option<&DeviceBuffer<T::Stored>>) -> Self {
                buffer.map_or(Self::NONE, Self::from)
            }
        }
    )* };
}
pointers! {
    /// An array that nobody writes while the kernel runs: `const T* __restrict__`.
    Read, "const ", "* __restrict__ ";
    /// An array that is read, and may be written meanwhile: `const T*`.
    Watch, "const ", "* ";
    /// An array that no other argument reaches: `T* __restrict__`.
    Write, "", "* __restrict__ ";
    /// An array that is written, and may be reached otherwise: `T*`.
    Share, "", "* ";
}

/// A kernel's arguments: a struct with named fields of [`Parameter`] types, in the order of the kernel's parameters, which become the
/// macro of the struct's name. A field may be a record itself.
///
/// ```
/// use chromaflow_device::cuda::{Read, Record, Write};
/// chromaflow_device::kernel_record! {
///     /// y = a x.
///     pub struct Scale {
///         n: u64,
///         a: f64,
///         x: Read<f64>,
///         y: Write<f64>,
///     }
/// }
/// assert_eq!(
///     Scale::declaration(),
///     "#define Scale unsigned long long n, double a, const double* __restrict__ x, double* __restrict__ y\n"
/// );
/// // extern "C" __global__ void scale(Scale) { ... }
/// ```
#[macro_export]
macro_rules! kernel_record {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$about:meta])* $field:ident : $ty:ty),* $(,)? })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $($(#[$about])* pub $field: $ty,)*
        }

        impl $crate::cuda::Parameter for $name {
            const COUNT: usize = 0 $(+ <$ty as $crate::cuda::Parameter>::COUNT)*;

            fn declare(_name: &str) -> String {
                const { assert!(<$name as $crate::cuda::Parameter>::COUNT <= $crate::cuda::Launch::MAX_ARGS) };
                let all: Vec<String> =
                    vec![$(<$ty as $crate::cuda::Parameter>::declare(stringify!($field))),*];
                all.join(", ")
            }

            fn each(&self, push: &mut dyn FnMut(u64, usize)) {
                $($crate::cuda::Parameter::each(&self.$field, push);)*
            }
        }

        impl $crate::cuda::Record for $name {
            const NAME: &'static str = stringify!($name);
        }
    )* };
}

/// A record of arguments, each field of what can become its type: buffers and parts of them, or none, for pointers. `x` stands for
/// `x: x`.
#[macro_export]
macro_rules! kernel_arguments {
    ($name:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $name { $($field: $crate::kernel_arguments!(@ $field $($value)?)),* }
    };
    (@ $field:ident) => { $field.into() };
    (@ $field:ident $value:expr) => { ($value).into() };
}

/// Enqueues a launch with a record of its arguments, whose fields are as [`kernel_arguments!`](crate::kernel_arguments) takes them:
/// [`Launch::record`](crate::cuda::Launch::record) and [`Launch::enqueue`](crate::cuda::Launch::enqueue) in one, unsafe as the latter is.
#[macro_export]
macro_rules! enqueue {
    ($launch:expr, $stream:expr, $record:ident { $($field:tt)* }) => {
        $launch.record(&$crate::kernel_arguments! { $record { $($field)* } }).enqueue($stream)
    };
}

/// Kernels of a source with what each takes: a struct of their entries, which `of` finds in a module, and the record of each, as
/// [`kernel_record!`](crate::kernel_record) has it; one without fields stands before or elsewhere. The struct is [`Records`]: what the source needs before its text.
///
/// ```
/// use chromaflow_device::cuda::{Read, Records, Write};
/// chromaflow_device::kernels! {
///     /// Both entries of a file.
///     pub struct Kernels {
///         scale: Scale { n: u64, a: f64, x: Read<f64>, y: Write<f64> },
///         scale_twice: Scale,
///     }
/// }
/// assert!(Kernels::declarations().starts_with("#define Scale unsigned long long n, double a, "));
/// ```
#[macro_export]
macro_rules! kernels {
    ($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($kernel:ident: $record:ident $({ $($field:tt)* })?),* $(,)?
    }) => {
        $($($crate::kernel_record! {
            #[doc = concat!("What `", stringify!($kernel), "` takes.")]
            $vis struct $record { $($field)* }
        })?)*

        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[allow(clippy::struct_field_names)] // entries' names, which a source shares with others
        $vis struct $name {
            $(pub $kernel: $crate::cuda::Kernel,)*
        }

        impl $name {
            /// Finds them in a module.
            ///
            /// # Errors
            /// [`CudaError::Driver`](chromaflow_device::cuda::CudaError::Driver) where one is not there.
            $vis fn of(module: &std::sync::Arc<$crate::cuda::Module>) -> Result<Self, $crate::cuda::CudaError> {
                Ok(Self { $($kernel: module.kernel(stringify!($kernel))?,)* })
            }
        }

        impl $crate::cuda::Records for $name {
            fn declarations() -> String {
                let mut all = vec![$(<$record as $crate::cuda::Record>::declaration()),*];
                all.dedup();
                all.concat()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    kernel_record! {
        /// One of each.
        struct Mixed {
            rows: u32,
            way: i32,
            sizes: u64,
            shift: f64,
            scale: f32,
            order: Read<u32>,
            seen: Watch<[u32; 2]>,
            out: Write<f32>,
            last: Last,
        }

        /// What comes last.
        struct Last {
            sums: Share<f64>,
            raw: Read<()>,
        }
    }

    #[test]
    fn arguments_are_what_the_parameters_say() {
        let mixed = Mixed {
            rows: 7,
            way: -1,
            sizes: 1 << 40,
            shift: -0.5,
            scale: 2.0,
            order: Read::at(0x1000),
            seen: Watch::NONE,
            out: Write::at(0x2000),
            last: Last { sums: Share::at(0x3000), raw: Read::at(0x4000) },
        };
        let mut found = Vec::new();
        mixed.each(&mut |bits, bytes| found.push((bits, bytes)));
        assert_eq!(found.len(), Mixed::COUNT);
        let [shift, scale] = [(-0.5_f64).to_bits(), u64::from(2.0_f32.to_bits())];
        let words = [(7, 4), (0xffff_ffff, 4), (1 << 40, 8), (shift, 8), (scale, 4)];
        let pointers = [0x1000, 0, 0x2000, 0x3000, 0x4000].map(|at| (at, 8));
        assert_eq!(found, [&words[..], &pointers[..]].concat());
        assert_eq!(
            Mixed::declaration(),
            "#define Mixed unsigned int rows, int way, unsigned long long sizes, double shift, float scale, \
             const unsigned int* __restrict__ order, const uint2* seen, float* __restrict__ out, double* sums, \
             const void* __restrict__ raw\n"
        );
    }
}
