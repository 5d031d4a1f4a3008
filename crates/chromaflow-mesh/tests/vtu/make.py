"""The files of this folder: a box of all four types with two markers, in every way that VTK and meshio write `.vtu`.

    pip install vtk meshio
    chromaflow mesh generate box-mixed box.su2 --cells 2,2,1
    python make.py box.su2 FOLDER
"""

import sys
from pathlib import Path

import meshio
import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk

TYPES = {"triangle": 5, "quad": 9, "tetra": 10, "hexahedron": 12, "wedge": 13, "pyramid": 14}


def box(file):
    """The mesh, with marker 7 on faces at z = 0 and 9 on others, as Gmsh numbers physical groups."""
    mesh = meshio.read(file)
    blocks, markers = [], []
    for block in mesh.cells:
        if block.type in TYPES:
            low = np.all(mesh.points[block.data][:, :, 2] == 0.0, axis=1)
            flat = block.type in ("triangle", "quad")
            blocks.append(block)
            markers.append(np.where(low, 7, 9) if flat else np.full(len(block.data), 1))
    return meshio.Mesh(mesh.points, blocks, cell_data={"gmsh:physical": markers})


def grid(mesh, named):
    """The same of VTK."""
    made = vtk.vtkUnstructuredGrid()
    points = vtk.vtkPoints()
    points.SetDataTypeToDouble()
    for point in mesh.points:
        points.InsertNextPoint(*point)
    made.SetPoints(points)
    for block in mesh.cells:
        for cell in block.data:
            made.InsertNextCell(TYPES[block.type], len(cell), [int(n) for n in cell])
    markers = numpy_to_vtk(np.concatenate(mesh.cell_data["gmsh:physical"]).astype(np.int32), deep=True)
    markers.SetName("CellEntityIds")
    made.GetCellData().AddArray(markers)
    times = numpy_to_vtk(np.array([0.5, 2.0]), deep=True)
    times.SetName("TimeValue")
    made.GetFieldData().AddArray(times)
    words = vtk.vtkStringArray()
    words.SetName("words")
    words.InsertNextValue("some words")
    made.GetFieldData().AddArray(words)
    if named:
        for name, marker in (("floor", 7), ("rest", 9)):
            pair = numpy_to_vtk(np.array([marker, 2], dtype=np.int32), deep=True)
            pair.SetName(name)
            made.GetFieldData().AddArray(pair)
    return made


def write(made, file, mode, packing="None", big=False, wide=False, kind=vtk.vtkXMLUnstructuredGridWriter):
    writer = kind()
    pieces = vtk.vtkExtractUnstructuredGridPiece()  # with copies of the cells beside each piece
    pieces.SetInputData(made)
    pieces.SetCreateGhostCells(True)
    if kind is vtk.vtkXMLPUnstructuredGridWriter:
        writer.SetInputConnection(pieces.GetOutputPort())
    else:
        writer.SetInputData(made)
    writer.SetFileName(str(file))
    {"ascii": writer.SetDataModeToAscii, "binary": writer.SetDataModeToBinary}.get(mode, writer.SetDataModeToAppended)()
    writer.SetEncodeAppendedData(mode == "base64")
    getattr(writer, f"SetCompressorTypeTo{packing}")()
    (writer.SetByteOrderToBigEndian if big else writer.SetByteOrderToLittleEndian)()
    (writer.SetHeaderTypeToUInt64 if wide else writer.SetHeaderTypeToUInt32)()
    writer.SetBlockSize(512)  # several blocks
    if kind is vtk.vtkXMLPUnstructuredGridWriter:
        writer.SetNumberOfPieces(3)
        writer.SetEndPiece(2)
        writer.SetGhostLevel(1)
    assert writer.Write()


def main(source, folder):
    mesh = box(source)
    for name, options in {
        "ascii": {"binary": False},
        "zlib": {},
        "lzma": {"compression": "lzma"},
        "plain": {"compression": None, "header_type": "UInt64"},
    }.items():
        meshio.vtu.write(folder / f"meshio_{name}.vtu", mesh, **options)
    for mode in ("ascii", "binary", "base64", "raw"):
        for packing in ("None",) if mode == "ascii" else ("None", "ZLib", "LZ4", "LZMA"):
            wide, big = packing in ("ZLib", "None"), packing == "LZ4"
            file = folder / f"vtk_{mode}_{packing.lower()}_named.vtu"
            write(grid(mesh, True), file, mode, packing, big, wide)
    write(grid(mesh, False), folder / "vtk_pieces.pvtu", "raw", "ZLib", kind=vtk.vtkXMLPUnstructuredGridWriter)


main(Path(sys.argv[1]), Path(sys.argv[2]))
