// How what the equations take of a node changes, of one unknown, as ../tight/mod.rs has it.
struct NodeSlopes {
    double eddy, spread[2], source[2], turning[3][3];
};
