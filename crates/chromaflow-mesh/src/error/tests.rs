use super::*;

/// Findings on the layer that a planar mesh becomes are told in the plane, once and for all.
#[test]
fn planar_meshes_are_spoken_of_as_such() {
    let mut report = Report::default();
    let mut add = |subject: Subject, nodes: &[u32]| {
        report.add(Defect::MissingBoundary, || Finding {
            defect: Defect::MissingBoundary,
            subject,
            nodes: nodes.to_vec(),
            at: Some([0.25, 0.5, 0.5]),
            place: None,
            what: "alone".to_owned(),
        });
    };
    add(Subject::Element(Kind::Hexahedron, 7), &[1, 2, 12, 11]);
    add(Subject::Element(Kind::Prism, 3), &[4, 5, 6, 14, 15, 16]);
    add(Subject::Face("wing".to_owned(), 4, 0), &[8, 9, 19, 18]);
    let planar = Some(Planar { nodes_2d: 10, depth: 1.0 });
    for _ in 0..2 {
        report.in_plane(planar);
        assert_eq!(
            report.findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            [
                "quadrilateral 7 (nodes 1 2 at 0.250000 0.500000): alone",
                "triangle 3 (nodes 4 5 6 at 0.250000 0.500000): alone",
                "marker \"wing\", edge 0 (nodes 8 9 at 0.250000 0.500000): alone",
            ]
        );
    }
    assert_eq!(Report::unpack([&report.pack()[..]]).findings.len(), 3);
}

#[test]
fn reports_of_parts_become_one() {
    let finding = |i: usize, place| Finding {
        defect: Defect::ZeroVolume,
        subject: Subject::Element(Kind::Prism, i),
        nodes: vec![3, i as u32],
        at: Some([0.1, -2.0, f64::INFINITY]),
        place,
        what: "its volume is 0".to_owned(),
    };
    let face = Finding {
        defect: Defect::LooseBoundary,
        subject: Subject::Face("a wing".to_owned(), 4, 7),
        nodes: vec![],
        at: None,
        place: Some(Place::Line(12)),
        what: "no element has this face".to_owned(),
    };
    let (mut one, mut other) = (Report::default(), Report::default());
    (8..16).for_each(|i| one.add(Defect::ZeroVolume, || finding(i, Some(Place::Byte(5)))));
    one.add(Defect::LooseBoundary, || face.clone());
    (0..8).for_each(|i| other.add(Defect::ZeroVolume, || finding(i, None)));
    let mut whole = Report::default();
    for i in 0..16 {
        whole.add(Defect::ZeroVolume, || finding(i, (i >= 8).then_some(Place::Byte(5))));
    }
    whole.add(Defect::LooseBoundary, || face);
    let none = Report::default().pack();
    assert_eq!(Report::unpack([&one.pack()[..], &none, &other.pack()]), whole);
}
