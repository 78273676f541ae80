#include "serve/step_measurement.h"

#include <algorithm>
#include <array>

#include "serve/model_source.h"

namespace ridge::serve {
namespace {

constexpr size_t kLeastPoints = 4;  // that a fit needs
// A step beyond budget / kOnceShare runs once: preparing took 5 to 8 ms (llama-1b, Intel Xeon of two CPUs).
constexpr int kOnceShare = 16;

// A number of sequences with new tokens each, behind `past`.
struct StepShape {
  int64_t sequences = 1, tokens = 1, past = 0;
};

// In the order of what they take; the first five tell the five coefficients apart. What a shape finds in its blocks was
// written by those before it.
constexpr std::array kStepShapes = {
    StepShape{1, 1, 0},    StepShape{1, 4, 0},   StepShape{1, 16, 0},  StepShape{1, 1, 16},  StepShape{4, 1, 16},
    StepShape{1, 64, 0},   StepShape{1, 1, 64},  StepShape{16, 1, 64}, StepShape{1, 256, 0}, StepShape{16, 1, 256},
    StepShape{1, 64, 256}, StepShape{1, 512, 0}, StepShape{32, 1, 512}};

// Sequences share the blocks of their past, and each has those of its new tokens for itself.
class ShapedStep {
 public:
  ShapedStep(const StepShape& shape, const engine::CacheShape& cache) : tokens_(static_cast<size_t>(shape.tokens), 0) {
    const int64_t shared = shape.past / cache.block_tokens;
    const int64_t own = cache.blocks_for(shape.past + shape.tokens) - shared;
    blocks_.resize(static_cast<size_t>(shape.sequences));
    for (int64_t i = 0; i < shape.sequences; ++i) {
      std::vector<int32_t>& blocks = blocks_[static_cast<size_t>(i)];
      for (int64_t block = 0; block < shared; ++block) blocks.push_back(static_cast<int32_t>(block));
      for (int64_t block = 0; block < own; ++block) blocks.push_back(static_cast<int32_t>(shared + i * own + block));
      needed_ = shared + (i + 1) * own;
    }
    for (const std::vector<int32_t>& blocks : blocks_) sequences_.push_back({shape.past, tokens_, blocks, 1});
  }
  std::span<const engine::StepSequence> sequences() const { return sequences_; }
  int64_t needed() const { return needed_; }

 private:
  std::vector<int32_t> tokens_;
  std::vector<std::vector<int32_t>> blocks_;
  std::vector<engine::StepSequence> sequences_;
  int64_t needed_ = 0;
};

}  // namespace

Result<std::vector<generate::StepPoint>> measure_steps(engine::Decoder& decoder, int64_t blocks, Nanoseconds budget,
                                                       Clock& clock, const std::stop_token& stop) {
  const TimePoint end = clock.now() + budget;
  std::vector<generate::StepPoint> points;
  for (const StepShape& shape : kStepShapes) {
    const ShapedStep step(shape, decoder.info().cache);
    if (step.needed() > blocks || shape.past + shape.tokens > decoder.info().context) continue;
    generate::StepLoad load;
    for (const engine::StepSequence& sequence : step.sequences())
      load.add(static_cast<double>(sequence.tokens.size()), static_cast<double>(sequence.past));
    if (points.size() >= kLeastPoints && to_seconds(end - clock.now()) < generate::fit(points).seconds(load)) break;
    Nanoseconds taken{};
    for (int run = 0; run < 2; ++run) {  // the first may prepare what later ones use
      if (stop.stop_requested()) return load_cancelled();
      if (run > 0 && taken > budget / kOnceShare) break;
      const TimePoint begin = clock.now();
      if (const Result<engine::Logits> done = decoder.step(step.sequences()); !done)
        return wrap(done.error(), "measure its first steps");
      taken = clock.now() - begin;
    }
    points.push_back({load, to_seconds(taken)});
  }
  return points;
}

}  // namespace ridge::serve
