// Lines of rows on a device. Includes nothing.
struct Line {
    unsigned int row;   // its first row
    unsigned int rows;  // so many
    unsigned int slot;  // rows of the longest lines of the groups before its own: lines that one warp goes through
    unsigned int lane;  // where it stands in its group
};
