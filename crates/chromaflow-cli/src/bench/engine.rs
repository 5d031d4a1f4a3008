//! Who computes in a benchmark.

use crate::context::Context;
use crate::error::{CliError, CliResult};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::fmt;

/// Who computes in a benchmark; each benchmark knows some of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// As the textbook has it: sequential, f64
    Reference,
    /// Tuned, on all threads: the structured form where the problem has one, the general one elsewhere
    Cpu,
    /// On the CPU, the form for any pattern, also where the pattern is a structured grid's
    General,
    /// On the GPU, a kernel for every stage of every hyperplane (structured grids, policy d)
    Acc,
    /// On the GPU, a kernel for every hyperplane (likewise, blocks up to 32)
    Cl,
    /// On the GPU, the tuned kernels: the structured form where the problem has one, the general one elsewhere
    Cuda,
    /// On the GPU, the general form also where the pattern is a structured grid's
    CudaGeneral,
    /// On the GPU, NVIDIA's libraries
    Library,
}

impl Engine {
    /// Its name in command lines and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Cpu => "cpu",
            Self::General => "general",
            Self::Acc => "acc",
            Self::Cl => "cl",
            Self::Cuda => "cuda",
            Self::CudaGeneral => "cuda-general",
            Self::Library => "library",
        }
    }

    /// Whether it computes on a GPU.
    pub fn is_gpu(self) -> bool {
        !matches!(self, Self::Reference | Self::Cpu | Self::General)
    }

    /// Threads that it uses.
    pub fn cores(self, ctx: &Context) -> usize {
        if matches!(self, Self::Cpu | Self::General) { ctx.team().size() } else { 1 }
    }

    /// A parser of command lines that takes these engines alone.
    pub fn one_of(known: &'static [Engine]) -> impl TypedValueParser<Value = Engine> {
        PossibleValuesParser::new(known.iter().filter_map(Engine::to_possible_value))
            .map(|name| Engine::from_str(&name, false).expect("one of the possible values"))
    }

    /// The engines of `--engine`; where none is named, the one of `--backend`.
    ///
    /// # Errors
    /// An engine of the CPU where `--backend cuda` asks for the GPU.
    pub fn chosen(given: &[Engine], ctx: &Context) -> CliResult<Vec<Engine>> {
        let gpu = ctx.gpu().is_some();
        if given.is_empty() {
            return Ok(vec![if gpu { Engine::Cuda } else { Engine::Cpu }]);
        }
        match given.iter().find(|e| gpu && !e.is_gpu()) {
            Some(engine) => Err(CliError::input(format!(
                "--backend cuda, but engine {engine} computes on the CPU: leave out --backend (engines of the GPU find \
                 it without) or name engines of the GPU alone"
            ))),
            None => Ok(given.to_vec()),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
