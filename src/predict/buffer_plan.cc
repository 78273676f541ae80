#include "predict/buffer_plan.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace ridge::predict {
namespace {

constexpr int64_t kTensorRounding = 256;  // kAllocAlignment: every tensor's size is rounded up to it
constexpr int kNone = -1;

int64_t aligned(int64_t bytes) { return (bytes + kTensorRounding - 1) / kTensorRounding * kTensorRounding; }

// Assigns a buffer to each tensor while the steps go by.
class Assignment {
 public:
  explicit Assignment(const EngineGraph& graph)
      : graph_(graph), buffer_of_(graph.tensors.size(), kNone), uses_(graph.tensors.size(), 0) {
    for (const EngineStep& step : graph.steps)
      for (int t : step.reads) ++uses_[static_cast<size_t>(t)];
  }

  BufferPlan run() {
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      const EngineStep& step = graph_.steps[s];
      for (size_t o = 0; o < step.writes.size(); ++o) place(step, o, s);
      for (int t : step.reads) finish(t, s);
      for (int t : step.writes)
        if (uses_[static_cast<size_t>(t)] == 0) let_go(t, s);  // nobody reads it
    }
    for (ActivationBuffer& buffer : plan_.buffers)
      if (buffer.output) buffer.last = graph_.steps.size();
    measure();
    return std::move(plan_);
  }

 private:
  const EngineTensor& tensor(int t) const { return graph_.tensors[static_cast<size_t>(t)]; }

  void share(int t, int buffer) {
    buffer_of_[static_cast<size_t>(t)] = buffer;
    holders_[static_cast<size_t>(buffer)]++;
  }

  void place(const EngineStep& step, size_t o, size_t s) {
    int t = step.writes[o];
    if (!tensor(t).output && o == 0) {
      if (step.view) {  // of an input of the model: no memory of its own either
        int shown = buffer_of_[static_cast<size_t>(step.reads[0])];
        if (shown != kNone) share(t, shown);
        return;
      }
      for (int r : step.may_overwrite)
        if (can_overwrite(r, t)) return share(t, buffer_of_[static_cast<size_t>(r)]);
    }
    if (!tensor(t).output)
      if (std::optional<int> dead = take_dead(t)) return share(t, *dead);
    plan_.buffers.push_back({aligned(tensor(t).bytes), s, s, tensor(t).output});
    holders_.push_back(0);
    shape_.push_back(tensor(t).shape);
    share(t, static_cast<int>(plan_.buffers.size()) - 1);
  }

  // This step is the last to need it, and nothing else lies in its memory.
  bool can_overwrite(int read, int write) const {
    int buffer = buffer_of_[static_cast<size_t>(read)];
    return buffer != kNone && !plan_.buffers[static_cast<size_t>(buffer)].output &&
           uses_[static_cast<size_t>(read)] == 1 && holders_[static_cast<size_t>(buffer)] == 1 &&
           tensor(read).bytes == tensor(write).bytes;
  }

  std::optional<int> take_dead(int t) {
    for (size_t i = dead_.size(); i-- > 0;) {
      size_t buffer = static_cast<size_t>(dead_[i]);
      if (shape_[buffer] < 0 || shape_[buffer] != tensor(t).shape ||
          plan_.buffers[buffer].bytes != aligned(tensor(t).bytes))
        continue;
      dead_.erase(dead_.begin() + static_cast<std::ptrdiff_t>(i));
      return static_cast<int>(buffer);
    }
    return std::nullopt;
  }

  void finish(int t, size_t s) {
    size_t index = static_cast<size_t>(t);
    if (--uses_[index] == 0) let_go(t, s);
    if (buffer_of_[index] != kNone) {
      size_t& last = plan_.buffers[static_cast<size_t>(buffer_of_[index])].last;
      last = std::max(last, s);
    }
  }

  void let_go(int t, size_t s) {
    int buffer = buffer_of_[static_cast<size_t>(t)];
    if (buffer == kNone) return;
    ActivationBuffer& held = plan_.buffers[static_cast<size_t>(buffer)];
    held.last = std::max(held.last, s);
    if (--holders_[static_cast<size_t>(buffer)] == 0 && !held.output) dead_.push_back(buffer);
  }

  void measure() {
    std::vector<int64_t> change(graph_.steps.size() + 2, 0);
    for (const ActivationBuffer& buffer : plan_.buffers) {
      change[buffer.first] += buffer.bytes;
      change[buffer.last + 1] -= buffer.bytes;
    }
    int64_t live = 0;
    for (int64_t bytes : change) plan_.live_bytes = std::max(plan_.live_bytes, live += bytes);
  }

  const EngineGraph& graph_;
  std::vector<int> buffer_of_;  // per tensor; kNone: an input of the model, or shown from one
  std::vector<int> uses_;       // per tensor: readers to come
  BufferPlan plan_;
  std::vector<int> holders_;  // per buffer: tensors in it that are still needed
  std::vector<int> shape_;    // per buffer
  std::vector<int> dead_;     // buffers that nobody needs, the latest last
};

// Offsets in one block, best fit among the gaps.
class Pattern {
 public:
  size_t add(int64_t bytes) {
    int64_t current = 0, best = blocks_.empty() ? 0 : blocks_.back().end;
    int64_t waste = std::numeric_limits<int64_t>::max();
    auto consider = [&](int64_t gap) {
      if (gap < bytes || gap - bytes >= waste) return;
      waste = gap - bytes;
      best = current;
    };
    for (const Block& block : blocks_) {
      consider(block.begin - current);
      current = std::max(current, block.end);
    }
    consider(size_ - current);
    size_ = std::max(size_, best + bytes);
    Block block{best, best + bytes, next_};
    blocks_.insert(std::upper_bound(blocks_.begin(), blocks_.end(), block,
                                    [](const Block& a, const Block& b) { return a.begin < b.begin; }),
                   block);
    return next_++;
  }
  void remove(size_t id) {
    std::erase_if(blocks_, [&](const Block& block) { return block.id == id; });
  }
  int64_t size() const { return size_; }

 private:
  struct Block {
    int64_t begin = 0, end = 0;
    size_t id = 0;
  };
  std::vector<Block> blocks_;  // by begin
  int64_t size_ = 0;
  size_t next_ = 0;
};

}  // namespace

BufferPlan plan_buffers(const EngineGraph& graph) { return Assignment(graph).run(); }

int64_t pattern_bytes(const BufferPlan& plan, size_t steps) {
  Pattern pattern;
  std::vector<std::vector<size_t>> freed(steps + 1);
  size_t next = 0;
  for (size_t s = 0; s < steps; ++s) {
    for (; next < plan.buffers.size() && plan.buffers[next].first == s; ++next) {
      const ActivationBuffer& buffer = plan.buffers[next];
      if (!buffer.output && buffer.bytes > 0) freed[buffer.last].push_back(pattern.add(buffer.bytes));
    }
    for (size_t id : freed[s]) pattern.remove(id);
  }
  return pattern.size();
}

}  // namespace ridge::predict
