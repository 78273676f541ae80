// A block of CUDA threads on the CPU, for the kernels of src/lab/kernels that use the instructions of warp_matrix.cu:
// this header stands in for half.cu and warp_matrix.cu, and defines the words of CUDA that src/gpu/dialect.cu names.
// Threads are fibers, which change only where a warp or a block must come together.
//
// It is stricter than a GPU: a copy writes nothing before it is waited for, and Findings count what a GPU would leave
// to chance. Layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", "mma.m16n8k8" (TF32) and
// "ldmatrix"; written down from there, not from the kernels. One thread.
#pragma once
#pragma GCC system_header  // the kernels' text is CUDA's C++

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/half.h"

namespace ridge::fake {

struct Findings {
  int64_t multiplications = 0;  // of warps: mma
  int64_t matrix_reads = 0;     // ldmatrix
  int64_t copies = 0;           // of warps: cp.async
  int64_t bank_conflicts = 0;   // further passes over shared memory than eight threads with 16 bytes each need
  int64_t early_reads = 0;   // of what has not arrived, or which another thread's wait, but no barrier, has seen arrive
  int64_t early_writes = 0;  // to what another warp read since the last barrier
  int64_t group_multiplications = 0;  // of warp groups: wgmma
  int64_t boxes = 0;                  // cp.async.bulk.tensor
  int64_t never_ends = 0;             // threads that wait for what does not happen
  int64_t split_warps = 0;            // threads of a warp in different instructions
};

class Block {
 public:
  struct Index {
    unsigned x = 0, y = 0, z = 0;
  };

  static Findings run(Index block, Index blocks, unsigned threads, const std::function<void()>& kernel) {
    Block made(block, blocks, threads, kernel);
    current_ = &made;
    made.schedule();
    current_ = nullptr;
    return made.findings_;
  }
  static Block& current() { return *current_; }

  Index block, blocks, size;
  Index thread() const { return {static_cast<unsigned>(running_)}; }
  size_t lane() const { return running_ % 32; }

  void barrier() {
    const int64_t mine = epoch_;
    if (++arrived_ < threads_.size()) return wait([&] { return epoch_ != mine; });
    arrived_ = 0;
    ++epoch_;
  }

  // All threads of the warp give `mine`; the last one calls all(lanes).
  template <typename T, typename All>
  void together(T& mine, const char* instruction, const All& all) {
    Warp& warp = warps_[running_ / 32];
    if (warp.arrived > 0 && warp.instruction != instruction) ++findings_.split_warps;
    warp.instruction = instruction;
    warp.lanes[lane()] = &mine;
    const int64_t round = warp.round;
    if (++warp.arrived < 32) return wait([&] { return warp.round != round; });
    T* lanes[32];
    for (size_t i = 0; i < 32; ++i) lanes[i] = static_cast<T*>(warp.lanes[i]);
    all(lanes);
    warp.arrived = 0;
    ++warp.round;
  }

  // Called once for the eight threads whose 16 bytes pass together.
  void count_conflicts(const void* const* addresses) {
    std::set<uintptr_t> in_bank[8];
    size_t most = 0;
    for (int i = 0; i < 8; ++i) {
      const uintptr_t piece = reinterpret_cast<uintptr_t>(addresses[i]) / 16;
      in_bank[piece % 8].insert(piece);
      most = std::max(most, in_bank[piece % 8].size());
    }
    findings_.bank_conflicts += static_cast<int64_t>(most) - 1;
  }
  void note_read(const void* address) {
    Piece& piece = pieces_[reinterpret_cast<uintptr_t>(address) / 16];
    if (piece.in_flight || (piece.arrived_in == epoch_ && piece.writer != running_)) ++findings_.early_reads;
    if (piece.read_in != epoch_) piece.readers = 0;
    piece.read_in = epoch_;
    piece.readers |= uint64_t{1} << running_ / 32;
  }

  void copy(void* to, const void* from) {
    Piece& piece = pieces_[reinterpret_cast<uintptr_t>(to) / 16];
    if (piece.read_in == epoch_ && (piece.readers & ~(uint64_t{1} << running_ / 32)) != 0) ++findings_.early_writes;
    piece.in_flight = true;
    piece.writer = running_;
    std::memset(to, 0xff, 16);  // NaN in every format
    threads_[running_].open.emplace_back(to, from);
  }
  // Barriers that count bytes (mbarrier); boxes arrive with the first wait that they complete.
  struct Arrival {
    int64_t rounds = 0, expected_bytes = 0, queued_bytes = 0;
    bool arrived = false;
    std::vector<std::function<void()>> copies;
  };
  Arrival& arrival(const void* at) { return arrivals_[at]; }
  void wait_for(const void* at, int odd) {
    Arrival& one = arrivals_[at];
    wait([&] {
      if (one.arrived && one.queued_bytes == one.expected_bytes) {
        for (const auto& copy : one.copies) copy();
        one = {.rounds = one.rounds + 1};
        progress_ = true;
      }
      return one.rounds % 2 != odd;
    });
  }
  // Multiplications of the thread's part of a warp group, done when they are waited for.
  void queue_multiplication(std::function<void()> work) {
    threads_[running_].multiplications.push_back(std::move(work));
  }
  void close_multiplications() {
    Thread& thread = threads_[running_];
    thread.batches.push_back(std::exchange(thread.multiplications, {}));
  }
  void finish_all_but(size_t batches) {
    Thread& thread = threads_[running_];
    while (thread.batches.size() > batches) {
      for (const auto& work : thread.batches.front()) work();
      thread.batches.erase(thread.batches.begin());
    }
  }
  const char* shared_base = nullptr;  // address 0 of shared memory

  void close_group() {
    Thread& thread = threads_[running_];
    thread.groups.push_back(std::exchange(thread.open, {}));
  }
  void land_all_but(size_t groups) {
    Thread& thread = threads_[running_];
    while (thread.groups.size() > groups) {
      for (auto [to, from] : thread.groups.front()) {
        std::memcpy(to, from, 16);
        Piece& piece = pieces_[reinterpret_cast<uintptr_t>(to) / 16];
        piece.in_flight = false;
        piece.arrived_in = epoch_;
      }
      thread.groups.erase(thread.groups.begin());
    }
  }
  Findings& findings() { return findings_; }

 private:
  static constexpr size_t kStackBytes = 256 << 10;
  using Copies = std::vector<std::pair<void*, const void*>>;
  using Works = std::vector<std::function<void()>>;
  struct Thread {
    ucontext_t context;
    Works multiplications;
    std::vector<Works> batches;  // oldest first
    std::unique_ptr<char[]> stack;
    bool done = false;
    Copies open;
    std::vector<Copies> groups;  // oldest first
  };
  struct Warp {
    void* lanes[32];
    int arrived = 0;
    int64_t round = 0;
    const char* instruction = nullptr;
  };
  // 16 bytes of shared memory.
  struct Piece {
    bool in_flight = false;
    size_t writer = 0;
    int64_t arrived_in = -1, read_in = -1;  // between which barriers
    uint64_t readers = 0;                   // warps, since the last barrier
  };

  Block(Index at, Index grid, unsigned threads, const std::function<void()>& kernel)
      : block(at), blocks(grid), size{threads, 1, 1}, threads_(threads), warps_(threads / 32), kernel_(kernel) {}

  static void enter() {
    current_->kernel_();
    current_->threads_[current_->running_].done = current_->progress_ = true;
    swapcontext(&current_->threads_[current_->running_].context, &current_->scheduler_);
  }
  void schedule() {
    for (Thread& thread : threads_) {
      thread.stack = std::unique_ptr<char[]>(new char[kStackBytes]);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.get();
      thread.context.uc_stack.ss_size = kStackBytes;
      makecontext(&thread.context, &Block::enter, 0);
    }
    for (bool any = true; any;) {
      if (!std::exchange(progress_, false)) {
        ++findings_.never_ends;
        return;
      }
      any = false;
      for (running_ = 0; running_ < threads_.size(); ++running_) {
        if (threads_[running_].done) continue;
        any = true;
        swapcontext(&scheduler_, &threads_[running_].context);
      }
    }
  }
  template <typename Until>
  void wait(const Until& until) {
    progress_ = true;
    while (!until()) swapcontext(&threads_[running_].context, &scheduler_);
  }

  static inline Block* current_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  const std::function<void()>& kernel_;
  std::unordered_map<uintptr_t, Piece> pieces_;
  std::unordered_map<const void*, Arrival> arrivals_;
  bool progress_ = true;  // since all threads last had their turn
  ucontext_t scheduler_;
  size_t running_ = 0, arrived_ = 0;
  int64_t epoch_ = 0;
  Findings findings_;
};

}  // namespace ridge::fake

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ alignas(1024) static
#define threadIdx (::ridge::fake::Block::current().thread())
#define blockIdx (::ridge::fake::Block::current().block)
#define blockDim (::ridge::fake::Block::current().size)
#define gridDim (::ridge::fake::Block::current().blocks)
#define __syncthreads() ::ridge::fake::Block::current().barrier()
#define __int_as_float(bits) std::bit_cast<float>(bits)

#include "gpu/dialect.cu"
#undef UNROLL
#define UNROLL
#undef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name, count) \
  __shared__ type name[count];            \
  ::ridge::fake::Block::current().shared_base = reinterpret_cast<const char*>(name)

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
inline float __shfl_xor_sync(unsigned, float value, int apart) {
  struct {
    float mine, other;
  } both = {value, 0};
  ridge::fake::Block::current().together(both, "shfl", [&](auto** lanes) {
    for (int i = 0; i < 32; ++i) lanes[i]->other = lanes[i ^ apart]->mine;
  });
  return both.other;
}
inline int __any_sync(unsigned, int yes) {
  ridge::fake::Block::current().together(yes, "vote", [](int** lanes) {
    const bool any = std::any_of(lanes, lanes + 32, [](int* one) { return *one != 0; });
    for (int i = 0; i < 32; ++i) *lanes[i] = any;
  });
  return yes;
}

// For half.cu.
#define FP16 0
#define BF16 1
#define TF32 2
using WORD = uint32_t;
inline float value_of_bits(uint16_t bits, int format) {
  if (format == BF16) return std::bit_cast<float>(uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                                    : std::ldexp(exponent ? 1024.0F + fraction : fraction, std::max(exponent, 1) - 25);
  return bits >> 15 ? -size : size;
}
inline WORD word_of(float low, float high, int format) {
  auto bits = [&](float value) -> WORD { return format == BF16 ? ridge::to_bf16(value) : ridge::to_fp16(value); };
  return bits(low) | bits(high) << 16;
}

// For warp_matrix.cu.
#define WARP_SCRATCH(warps)
#define WITH_SCRATCH
#define GIVE_SCRATCH
inline void multiply(float* c, const WORD* a, const WORD* b, int format) {
  struct Operands {
    float* c;
    const WORD *a, *b;
  } mine = {c, a, b};
  ridge::fake::Block& block = ridge::fake::Block::current();
  block.together(mine, "mma", [&](Operands** lanes) {
    ++block.findings().multiplications;
    const int depth = format == TF32 ? 8 : 16;
    float left[16][16], right[16][8];  // [row][k], [k][column]
    auto value = [&](const WORD* words, int i) {
      if (format == TF32) return std::bit_cast<float>(words[i]);
      return value_of_bits(static_cast<uint16_t>(words[i / 2] >> i % 2 * 16), format);
    };
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4, thread = lane % 4;
      for (int i = 0; i < depth / 2; ++i) {
        // m16n8k16: row = group for 0 ≤ i < 2 and 4 ≤ i < 6, column = 2 · thread + (i & 1), + 8 from i = 4. m16n8k8
        // TF32: row = group for a0 and a2, column = thread, + 4 from i = 2.
        const int row = format == TF32 ? group + i % 2 * 8 : group + i / 2 % 2 * 8;
        const int k = format == TF32 ? thread + i / 2 * 4 : thread * 2 + i % 2 + i / 4 * 8;
        left[row][k] = value(lanes[lane]->a, i);
      }
      for (int i = 0; i < depth / 4; ++i) {
        const int k = format == TF32 ? thread + i * 4 : thread * 2 + i % 2 + i / 2 * 8;
        right[k][group] = value(lanes[lane]->b, i);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < depth; ++k) lanes[lane]->c[i] += left[row][k] * right[k][column];
      }
  });
}

inline void read_matrices(WORD* to, const WORD* row, bool transposed) {
  struct Operands {
    WORD* to;
    const WORD* row;
  } mine = {to, row};
  ridge::fake::Block& block = ridge::fake::Block::current();
  block.note_read(row);
  block.together(mine, transposed ? "ldmatrix.trans" : "ldmatrix", [&](Operands** lanes) {
    ++block.findings().matrix_reads;
    WORD read[32][4];
    for (int matrix = 0; matrix < 4; ++matrix) {
      const void* addresses[8];
      auto value = [&](int r, int column) {
        return reinterpret_cast<const uint16_t*>(lanes[8 * matrix + r]->row)[column];
      };
      for (int i = 0; i < 8; ++i) addresses[i] = lanes[8 * matrix + i]->row;
      block.count_conflicts(addresses);
      for (int lane = 0; lane < 32; ++lane) {
        const int r = lane / 4, column = lane % 4 * 2;
        const WORD low = transposed ? value(column, r) : value(r, column);
        read[lane][matrix] = low | WORD{transposed ? value(column + 1, r) : value(r, column + 1)} << 16;
      }
    }
    for (int lane = 0; lane < 32; ++lane) std::copy(read[lane], read[lane] + 4, lanes[lane]->to);
  });
}
inline void load_four(WORD* to, const WORD* row) { read_matrices(to, row, false); }
inline void load_four_turned(WORD* to, const WORD* row) { read_matrices(to, row, true); }

inline void copy_16_bytes(WORD* to, const WORD* from) {
  const void* mine = to;
  ridge::fake::Block& block = ridge::fake::Block::current();
  block.copy(to, from);
  block.together(mine, "cp.async", [&](const void*** lanes) {
    ++block.findings().copies;
    for (int first = 0; first < 32; first += 8) {
      const void* addresses[8];
      for (int i = 0; i < 8; ++i) addresses[i] = *lanes[first + i];
      block.count_conflicts(addresses);
    }
  });
}
#define COPIES_QUEUED() ::ridge::fake::Block::current().close_group()
#define COPIES_DONE_BUT(groups) ::ridge::fake::Block::current().land_all_but(groups)
inline float power_of_two(float x) {
  const float power = std::exp2(x);
  return power < std::numeric_limits<float>::min() ? 0 : power;
}

#include "lab/kernels/warp_rows.cu"

// For warp_group.cu. Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions" (descriptors, shared memory
// layouts with 128-byte swizzling, fragment of D) and "Tensors" (swizzling modes).
#define __CUDA_ARCH_FEAT_SM90_ALL
#define ARRIVAL uint64_t
struct TENSOR_MAP {
  const WORD* words;
  int rows, row_words, box_rows;
};
#define TENSOR TENSOR_MAP
inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(static_cast<const char*>(pointer) - ridge::fake::Block::current().shared_base);
}
inline void start_arrivals(ARRIVAL* all, int count) {
  for (int i = 0; i < count; ++i) ridge::fake::Block::current().arrival(all + i) = {};
}
inline void expect_bytes(ARRIVAL* at, int bytes) {
  ridge::fake::Block::Arrival& arrival = ridge::fake::Block::current().arrival(at);
  arrival.arrived = true;
  arrival.expected_bytes += bytes;
}
inline void wait_for(ARRIVAL* at, int odd) { ridge::fake::Block::current().wait_for(at, odd); }
// Swizzling of 128 bytes inverts bits 4 to 6 of an address by bits 7 to 9.
inline size_t swizzled(size_t address) { return address ^ (address >> 7 & 7) << 4; }
inline void fetch_box(WORD* to, const TENSOR_MAP* map, int word, int row, ARRIVAL* at) {
  ridge::fake::Block& block = ridge::fake::Block::current();
  ++block.findings().boxes;
  std::memset(to, 0xff, static_cast<size_t>(map->box_rows) * 128);
  ridge::fake::Block::Arrival& arrival = block.arrival(at);
  arrival.queued_bytes += map->box_rows * 128;
  const size_t begin = shared_address(to);
  char* base = reinterpret_cast<char*>(to) - begin;
  arrival.copies.push_back([=, map = *map] {
    for (int r = 0; r < map.box_rows; ++r)
      for (int w = 0; w < 32; ++w) {
        const bool inside = row + r < map.rows && word + w < map.row_words;
        const WORD value = inside ? map.words[static_cast<size_t>(row + r) * map.row_words + word + w] : 0;
        std::memcpy(base + swizzled(begin + static_cast<size_t>(r) * 128 + static_cast<size_t>(w) * 4), &value, 4);
      }
  });
}
#define GROUP_BEGINS()
#define GROUP_QUEUED() ::ridge::fake::Block::current().close_multiplications()
#define GROUPS_DONE_BUT(batches) ::ridge::fake::Block::current().finish_all_but(batches)
inline void multiply_group(float* c, unsigned long long a, unsigned long long b, int more, int format) {
  ridge::fake::Block& block = ridge::fake::Block::current();
  const unsigned thread = block.thread().x % 128;
  if (thread == 0) ++block.findings().group_multiplications;
  block.queue_multiplication([=, base = block.shared_base] {
    // Word `word` of row `row` of the matrix of a descriptor, rows being the longer way through shared memory
    // ("K-major").
    auto word_at = [&](unsigned long long matrix, size_t row, size_t word) {
      const size_t start = (matrix & 0x3fff) << 4, stride = (matrix >> 32 & 0x3fff) << 4;
      WORD value;
      const size_t address = start + row / 8 * stride + row % 8 * 128 + word * 4;
      std::memcpy(&value, base + (matrix >> 62 == 1 ? swizzled(address) : address), 4);
      return value;
    };
    for (size_t i = 0; i < 128; ++i) {
      const size_t row = thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8,
                   column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      float sum = more ? c[i] : 0;
      for (size_t word = 0; word < 8; ++word) {
        const WORD left = word_at(a, row, word), right = word_at(b, column, word);
        if (format == TF32)
          sum += std::bit_cast<float>(left) * std::bit_cast<float>(right);
        else
          for (int shift = 0; shift < 32; shift += 16)
            sum += value_of_bits(static_cast<uint16_t>(left >> shift), format) *
                   value_of_bits(static_cast<uint16_t>(right >> shift), format);
      }
      c[i] = sum;
    }
  });
}
