// What passes an edge of unknowns that a flow carries and that diffuse: the numbers of their matrix. Twin:
// ../matrix.rs.
//
// Constant: NB unknowns a node.
struct CarriedFace {
    // From a to b.
    double passing;
    // Gamma |n|^2 / (n . dx) of each unknown as a and as b see it.
    double through[2][NB];
};
