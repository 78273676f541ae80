// An empty kernel: only the launch remains.
KERNEL nothing(GLOBAL int* untouched) {}
