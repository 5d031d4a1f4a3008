//! NVIDIA GPUs, reached through the driver at run time.
//!
//! Nothing of CUDA is needed to build this crate. At run time [`Gpu::open`] looks for the driver, [`Gpu::module`] for
//! NVRTC (only when a kernel neither came with the program ([`ship`]) nor is in the cache on disk yet); each absence is a [`CudaError`] that says what is
//! missing and what to do about it. No function here panics because of the machine it runs on.
//!
//! * [`Gpu`]: one device with its context and its compiled kernels.
//! * [`Stream`], [`Event`], [`Graph`]: order and time of work.
//! * [`DeviceBuffer`], [`Pinned`]: memory on the device and page-locked memory on the host.
//! * [`Exported`], [`Imported`]: device memory of one process that others of the host write into.
//! * [`Nccl`], [`NcclRank`]: messages between GPUs by NVIDIA's library, where it is installed.
//! * [`tensor_map`]: boxes of arrays that the device copies by itself (TMA).
//! * [`KernelSource`], [`Module`], [`Kernel`], [`Launch`]: CUDA C++ text, its machine code, one entry, one launch.
//! * [`Record`]: a kernel's arguments, its parameter list made from them.
//!
//! **Threads**: everything is `Send` and `Sync` but the work of one [`Stream`] should be enqueued by one thread.

mod ahead;
mod compile;
mod error;
mod gpu;
mod ipc;
mod launch;
mod memory;
mod nccl;
mod pack;
mod record;
mod stream;
mod tensor_map;

pub use compile::{
    Compiled, KernelSource, arch_name, build_ahead, compile, folder as kernel_cache_folder, nvrtc_version,
};
pub use error::CudaError;
pub use gpu::{Gpu, GpuFacts, MemoryAt};
pub use ipc::{Exported, Imported, IpcHandle};
pub use launch::{Kernel, Launch, Module};
pub use memory::{DeviceBuffer, DeviceSlice, Pinned};
pub use nccl::{Leg, Nccl, NcclId, NcclRank};
pub use pack::{pack, ship, shipped};
pub use record::{Element, Parameter, Read, Record, Records, Share, Watch, Write};
pub use stream::{Asked, Event, Graph, Stream};
pub use tensor_map::{TensorMap, tensor_map};

pub use cudarc::{cublas::sys as cublas_sys, cusparse::sys as cusparse_sys, driver::sys as driver_sys};
