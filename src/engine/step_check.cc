#include "engine/step_check.h"

#include <fmt/format.h>

namespace ridge::engine {
namespace {

Status check_sequence(const DecoderInfo& info, int64_t reserved, const StepSequence& sequence) {
  const auto tokens = static_cast<int64_t>(sequence.tokens.size());
  if (tokens < 1) return invalid("has no token");
  if (sequence.past < 0 || sequence.past > info.context - tokens)
    return invalid(fmt::format("is longer than the context of {} tokens: {} past and {} new", info.context,
                               sequence.past, tokens));
  if (sequence.samples < 0 || sequence.samples > tokens)
    return invalid(fmt::format("wants logits of {} of its {} tokens", sequence.samples, tokens));
  const int64_t needed = info.cache.blocks_for(sequence.past + tokens);
  if (static_cast<int64_t>(sequence.blocks.size()) < needed)
    return invalid(fmt::format("has {} blocks, and needs {} of {} tokens each for {} tokens", sequence.blocks.size(),
                               needed, info.cache.block_tokens, sequence.past + tokens));
  for (const int32_t block : sequence.blocks)
    if (block < 0 || block >= reserved)
      return invalid(fmt::format("has block {}, and {} are reserved", block, reserved));
  for (const int32_t token : sequence.tokens)
    if (token < 0 || token >= info.vocabulary)
      return invalid(fmt::format("has token {}, and the vocabulary is of {}", token, info.vocabulary));
  return {};
}

}  // namespace

Status check_step(const DecoderInfo& info, int64_t blocks, std::span<const StepSequence> sequences) {
  if (sequences.empty()) return invalid("a step has at least one sequence");
  for (size_t i = 0; i < sequences.size(); ++i)
    if (Status checked = check_sequence(info, blocks, sequences[i]); !checked)
      return invalid(fmt::format("sequence {} of the step {}", i, checked.error().message));
  return {};
}

}  // namespace ridge::engine
