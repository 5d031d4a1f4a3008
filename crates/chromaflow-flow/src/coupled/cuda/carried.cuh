// What passes an edge of an unknown that a flow carries and that diffuses: the numbers of its matrix. Twin: ../matrix.rs.
struct CarriedFace {
    // From a to b.
    double passing;
    // Gamma |n|^2 / (n . dx) as a and as b see it.
    double through[2];
};
