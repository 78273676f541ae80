// After warp_matrix.cu. Operands of its multiplications from rows of 32 words (128 bytes) in shared memory. A row is
// eight pieces of 16 bytes; row r keeps piece p at p ^ (r % 8). So neither the eight rows that one matrix of ldmatrix
// reads nor the eight pieces that eight threads copy share a bank.
#define ROW 32
#define PIECE_AT(row, piece) ((row) * ROW + (((piece) ^ ((row) & 7)) * 4))

// Rows `row` to row + 15, words 8 · k to 8 · k + 7, as a left side.
DEVICE void load_left(WORD* to, SHARED_POINTER const WORD* rows, int row, int k WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  load_four(to, rows + PIECE_AT(row + lane % 16, 2 * k + lane / 16) GIVE_SCRATCH);
}

// The same words as two right sides, of eight rows each: to[0] and to[1], to[2] and to[3].
DEVICE void load_right(WORD* to, SHARED_POINTER const WORD* rows, int row, int k WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  load_four(to, rows + PIECE_AT(row + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2) GIVE_SCRATCH);
}

// The same words, 16 columns of 16-bit values, as two right sides of eight columns each, whose words hold two rows.
DEVICE void load_right_turned(WORD* to, SHARED_POINTER const WORD* rows, int row, int k WITH_SCRATCH) {
  const int lane = THREAD_X % 32;
  load_four_turned(to, rows + PIECE_AT(row + lane % 16, 2 * k + lane / 16) GIVE_SCRATCH);
}

DEVICE void store_two(GLOBAL float* to, float first, float second) {
  float2 both;
  both.x = first;
  both.y = second;
  *(GLOBAL float2*)to = both;
}
