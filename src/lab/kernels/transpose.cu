// L04, L07. out[column][row] = in[row][column] of a square of `size` floats; size is a multiple of 32. Blocks of 32 × 8
// threads move tiles of 32 × 32.
#define TILE 32
#define ROWS 8

// Reads rows, writes columns: the writes of a warp are `size` floats apart.
KERNEL_OF(TILE, ROWS) transpose_direct(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int size) {
  int column = BLOCK_X * TILE + THREAD_X;
  for (int i = 0; i < TILE; i += ROWS) {
    int row = BLOCK_Y * TILE + THREAD_Y + i;
    out[column * size + row] = in[row * size + column];
  }
}

// Reads and writes rows; transposes the tile in shared memory. Its columns are 32 floats apart: all in one bank.
KERNEL_OF(TILE, ROWS) transpose_tile(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int size) {
  SHARED float tile[TILE][TILE];
  for (int i = THREAD_Y; i < TILE; i += ROWS)
    tile[i][THREAD_X] = in[(BLOCK_Y * TILE + i) * size + BLOCK_X * TILE + THREAD_X];
  BARRIER();
  for (int i = THREAD_Y; i < TILE; i += ROWS)
    out[(BLOCK_X * TILE + i) * size + BLOCK_Y * TILE + THREAD_X] = tile[THREAD_X][i];
}

// The same with one float of padding per row: the 32 floats of a column use 32 banks.
KERNEL_OF(TILE, ROWS) transpose_padded(GLOBAL const float* RESTRICT in, GLOBAL float* RESTRICT out, int size) {
  SHARED float tile[TILE][TILE + 1];
  for (int i = THREAD_Y; i < TILE; i += ROWS)
    tile[i][THREAD_X] = in[(BLOCK_Y * TILE + i) * size + BLOCK_X * TILE + THREAD_X];
  BARRIER();
  for (int i = THREAD_Y; i < TILE; i += ROWS)
    out[(BLOCK_X * TILE + i) * size + BLOCK_Y * TILE + THREAD_X] = tile[THREAD_X][i];
}
