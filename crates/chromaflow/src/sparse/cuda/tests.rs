//! Blocks that a kernel assembles in place.

use super::*;
use crate::gallery::banded_lattice;
use crate::gpu::{DeviceJacobian, test_stream};
use crate::sparse::{Jacobian, OffDiagonal};
use crate::{Policy, Storage};
use arguments::In;
use chromaflow_device::cuda::Write;
use chromaflow_device::kernel_record;

const ROWS: usize = 70;

const TEXT: &str = r#"
extern "C" __global__ void put(Put) {
    const sell::Chunk chunk = chunks[blockIdx.x];
    const sell::BlockSink<NB, HEIGHT, In> sink(values, chunk);
    const unsigned int r = threadIdx.x;
    const unsigned int row = r < chunk.rows ? perm[chunk.row + r] : 0;
    const unsigned int count = r < chunk.rows ? row_ptr[row + 1] - row_ptr[row] : 0;
    for (unsigned int s = 0; s < chunk.slots; s++) {
        In block[NB * NB];
        for (int e = 0; e < NB * NB; e++)
            block[e] = s < count ? given[(unsigned long long)(row_ptr[row] + s) * (NB * NB) + e] : (In)0;
        sink.put(r, s, block);
    }
}
"#;

kernel_record! {
    /// Blocks in the order of the pattern into their places.
    struct Put {
        chunks: Read<Chunk>, perm: Read<u32>, row_ptr: Read<u32>, given: Read<In>, values: Write<In>,
    }
}

/// For every block size of sliced blocks the sink puts values where a conversion does.
#[test]
fn cuda_small_sink_puts_blocks_where_products_read_them() {
    let Some(stream) = test_stream() else { return };
    let (row_ptr, col_idx) = banded_lattice(ROWS, ROWS * 5, 3);
    let pattern = Arc::new(BlockPattern::new(ROWS, row_ptr, col_idx).unwrap());
    let mut tried = 0;
    for (nb, policy) in (1..=crate::MAX_NB).flat_map(|nb| [(nb, Policy::D), (nb, Policy::Ds)]) {
        let storage = Storage::from(policy);
        let mut converted = BlockMatrixCuda::new(&stream, &pattern, nb, storage).unwrap();
        let matrix = BlockMatrixCuda::new(&stream, &pattern, nb, storage).unwrap();
        let Some(place) = matrix.in_place() else { continue };
        let mut jac = Jacobian::zeroed(pattern.clone(), nb, policy).unwrap();
        let value = |i: usize| (i as f64 + 1.0) / 8.0;
        match &mut jac.off {
            OffDiagonal::F64(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = value(i)),
            OffDiagonal::F32(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = value(i) as f32),
            OffDiagonal::F16 { .. } => unreachable!("not a policy of this test"),
        }
        let given = DeviceJacobian::upload(&stream, &jac).unwrap();
        converted.set_values(&given).unwrap();
        let number = if policy == Policy::D { "double" } else { "float" };
        let source = KernelSource::new("sink", format!("typedef {number} In;\n{SELL}{TEXT}"));
        let source = source.record::<Put>().define("NB", nb).define("HEIGHT", place.rows);
        let kernel = stream.gpu().module(&source).unwrap().kernel("put").unwrap();
        let put = Put {
            chunks: place.chunks.into(),
            perm: place.perm.into(),
            row_ptr: (&matrix.row_ptr).into(),
            given: Read::at(given.off.ptr()),
            values: Write::at(place.values.ptr()),
        };
        // SAFETY: a thread block a chunk, a thread a row of it; `values` has a place for each of its slots.
        unsafe { kernel.launch(place.chunks.len(), place.rows).record(&put).enqueue(&stream).unwrap() };
        assert_eq!(
            converted.values.download().unwrap(),
            matrix.values.download().unwrap(),
            "nb {nb}, {policy}"
        );
        tried += 1;
    }
    assert!(tried >= 16, "{tried}");
}
