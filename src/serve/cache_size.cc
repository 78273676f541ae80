#include "serve/cache_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace ridge::serve {
namespace {

constexpr int64_t kUsualSequences = 32;            // of the whole context, if there is room
constexpr int64_t kUsualBytes = int64_t{4} << 30;  // most, unless more is asked for or one sequence needs it
constexpr double kMostOfFree = 0.9;                // the rest is the engine's, for the values between its layers

std::string bytes_text(int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

Error too_large(const CacheDemand& demand, int64_t needed, int64_t fitting) {
  const engine::CacheShape& shape = demand.shape;
  const int64_t tokens = fitting * shape.block_tokens;
  const std::string what = demand.tokens > 0 ? fmt::format("a cache of {} tokens", demand.tokens)
                                             : fmt::format("a cache for one sequence of {} tokens", demand.context);
  const std::string instead = tokens == 0 ? "unload other models, or give the process more memory"
                                          : fmt::format(
                                                "{} tokens fit: set the parameter {} to at most that, choose a "
                                                "smaller ridge_cache or ridge_weights, or give the process more "
                                                "memory",
                                                tokens, demand.tokens > 0 ? "ridge_cache_tokens" : "ridge_context");
  return {Code::kExhausted,
          fmt::format("{} takes {} ({} blocks of {} tokens, {} each); beside the weights ({} in files and {} as the "
                      "engine keeps them) {} are free for this process; {}",
                      what, bytes_text(needed * shape.bytes_per_block), needed, shape.block_tokens,
                      bytes_text(shape.bytes_per_block), format_bytes(static_cast<double>(demand.file_bytes)),
                      bytes_text(demand.weight_bytes), format_bytes(static_cast<double>(demand.free_bytes)), instead)};
}

}  // namespace

Result<int64_t> cache_blocks(const CacheDemand& demand) {
  const int64_t each = demand.shape.bytes_per_block;
  const int64_t sequence = demand.shape.blocks_for(demand.context);
  const int64_t needed = demand.tokens > 0 ? demand.shape.blocks_for(demand.tokens) : sequence;
  const bool known = demand.free_bytes > 0;
  const auto fitting = static_cast<int64_t>(kMostOfFree * static_cast<double>(demand.free_bytes)) / each;
  if (known && needed > fitting) return too_large(demand, needed, fitting);
  if (demand.tokens > 0) return needed;
  int64_t usual = std::min(sequence * std::min(kUsualSequences, demand.most_sequences), kUsualBytes / each);
  if (known) usual = std::min(usual, fitting / 2);
  return std::max(usual, sequence);
}

}  // namespace ridge::serve
