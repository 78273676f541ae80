// A kernel that does nothing: what is left is the launch.
KERNEL nothing(GLOBAL int* untouched) {}
