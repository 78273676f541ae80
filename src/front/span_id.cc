#include "front/span_id.h"

#include <fmt/format.h>

#include <random>

#include "base/random.h"

namespace ridge::front {
namespace {

// Never 0, which stands for no id.
uint64_t random_number() {
  thread_local uint64_t state = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  state += kGoldenGamma;
  const uint64_t number = split_mix(state);
  return number == 0 ? 1 : number;
}

}  // namespace

std::string new_trace_id() { return fmt::format("{:016x}{:016x}", random_number(), random_number()); }
std::string new_span_id() { return fmt::format("{:016x}", random_number()); }

}  // namespace ridge::front
