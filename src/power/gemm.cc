#include "power/gemm.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "machine/probe.h"
#include "measure/matmul_loops.h"

namespace ridge::power {
namespace {

// Products of squares on every core, each thread with its own.
Result<double> native_gemm_rate(size_t size, int threads, Nanoseconds slice, const Clock& clock) {
  const measure::Matmul multiply = measure::matmul_loops().back().run;
  std::atomic<int64_t> products = 0;
  const TimePoint begin = clock.now();
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([&] {
        std::vector<float> a(size * size, 0.5F), b(size * size, 0.25F), c(size * size);
        do {
          multiply(a.data(), b.data(), c.data(), size);
          ++products;
        } while (clock.now() - begin < slice);
      });
  }
  const double side = static_cast<double>(size), flops = 2 * side * side * side;  // docs/methods.md, cost conventions
  return static_cast<double>(products) * flops / to_seconds(clock.now() - begin);
}

}  // namespace

Result<Workload> gemm_on_cpu(int64_t size, const Clock& clock) {
  if (size % 64 != 0) return invalid(fmt::format("--size {}: on the CPU a multiple of 64", size));
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  const int threads = machine::usable_threads(machine);
  return Workload{fmt::format("FP32 matrix multiplications of {0} x {0} on {1} threads", size, threads), "FLOP",
                  [size, threads, &clock](Nanoseconds slice) {
                    return native_gemm_rate(static_cast<size_t>(size), threads, slice, clock);
                  }};
}

}  // namespace ridge::power
