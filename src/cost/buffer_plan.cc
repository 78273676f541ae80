#include "cost/buffer_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "cost/operators.h"
#include "cost/residency.h"

namespace ridge::cost {
namespace {

// Offsets in one block, each from the node that writes a buffer to the last one that needs it.
class Block {
 public:
  void add(int buffer, double size) {
    double offset = 0, waste = std::numeric_limits<double>::infinity();
    std::optional<double> best;
    auto at = allocations_.begin(), end = allocations_.end();
    auto try_gap = [&](double gap) {
      if (gap < size || gap - size >= waste) return;
      waste = gap - size;
      best = offset;
    };
    for (; at != end; ++at) {
      try_gap(at->offset - offset);
      offset = std::max(offset, at->offset + at->size);
    }
    try_gap(size_ - offset);
    const Allocation allocation{.offset = best.value_or(offset), .size = size, .buffer = buffer};
    size_ = std::max(size_, allocation.offset + size);
    allocations_.insert(std::upper_bound(allocations_.begin(), end, allocation,
                                         [](const Allocation& a, const Allocation& b) { return a.offset < b.offset; }),
                        allocation);
  }
  void remove(int buffer) {
    std::erase_if(allocations_, [&](const Allocation& allocation) { return allocation.buffer == buffer; });
  }
  double size() const { return size_; }

 private:
  struct Allocation {
    double offset = 0, size = 0;
    int buffer = -1;
  };
  std::vector<Allocation> allocations_;  // by offset
  double size_ = 0;
};

class Planner {
 public:
  Planner(const model::Graph& graph, const std::unordered_set<std::string>& open)
      : graph_(graph),
        residency_(residency_of(graph)),
        open_(open),
        buffer_(graph.tensors.size()),
        uses_(graph.tensors.size()),
        last_(graph.tensors.size()),
        output_(graph.tensors.size()) {
    std::iota(buffer_.begin(), buffer_.end(), 0);
    for (int t : graph.outputs)
      if (t >= 0) output_[index(t)] = true;
    for (size_t n = 0; n < graph.nodes.size(); ++n) for_each_read(n, [&](int t) { ++uses_[index(t)]; });
    // Never overwritten, never freed.
    for (size_t t = 0; t < uses_.size(); ++t) uses_[t] += residency_.constant[t] || output_[t] ? 1 : 0;
    for (int t : graph.inputs)
      if (t >= 0) ++uses_[index(t)];
  }

  BufferPlan plan() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (residency_.runs[n]) assign(n);
    return laid_out();
  }

 private:
  static size_t index(int tensor) { return static_cast<size_t>(tensor); }
  int buffer_of(int tensor) const { return buffer_[index(tensor)]; }
  const model::TensorInfo& info(int tensor) const { return graph_.tensors[index(tensor)]; }

  template <typename Use>
  void for_each_read(size_t n, Use&& use) const {
    if (!residency_.runs[n]) return;
    for (int t : graph_.nodes[n].inputs)
      if (t >= 0) use(t);
    for (int t : residency_.captured[n]) use(t);
  }

  bool same_shape(int a, int b) const {
    return info(a).type == info(b).type && info(a).shape && info(a).shape == info(b).shape &&
           !open_.contains(info(a).name) && !open_.contains(info(b).name);
  }

  // The input whose buffer the node's first output reuses; -1: none.
  int shared_input(const model::Node& node) const {
    auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : -1; };
    auto written_over = [&](int t) {
      return t >= 0 && uses_[index(buffer_of(t))] == 1 && same_shape(t, node.outputs[0]) ? t : -1;
    };
    const Operator& row = operator_of(node.domain, node.op);
    if (row.values == Values::kSameValues) return input(0);
    if (row.buffer == Buffer::kOverwrites) return written_over(input(0));
    return row.buffer == Buffer::kOverwritesSum ? written_over(input(3)) : -1;
  }

  // The last freed one of the same shape; -1: none.
  int take_freed(int output) {
    if (!info(output).shape || info(output).shape->empty()) return -1;
    const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](int t) { return same_shape(t, output); });
    if (found == free_.rend()) return -1;
    const int taken = *found;
    free_.erase(std::next(found).base());
    return taken;
  }

  void assign(size_t n) {
    const model::Node& node = graph_.nodes[n];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int t = node.outputs[i];
      if (t < 0 || output_[index(t)]) continue;
      int shared = i == 0 ? shared_input(node) : -1;
      if (shared < 0) shared = take_freed(t);
      if (shared < 0) continue;
      buffer_[index(t)] = buffer_of(shared);
      uses_[index(buffer_of(t))] += uses_[index(t)];
    }
    for_each_read(n, [&](int t) {
      last_[index(buffer_of(t))] = n;
      if (--uses_[index(buffer_of(t))] == 0) free_.push_back(buffer_of(t));
    });
    for (int t : node.outputs) {
      if (t < 0) continue;
      last_[index(buffer_of(t))] = n;
      if (buffer_of(t) == t && uses_[index(t)] == 0) free_.push_back(t);
    }
  }

  double bytes_of(int t) const {
    return info(t).shape ? static_cast<double>(byte_size(info(t).type, *info(t).shape).value_or(0)) : 0;
  }

  BufferPlan laid_out() const {
    BufferPlan plan;
    Block block;
    std::vector<std::vector<int>> ends(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!residency_.runs[n]) continue;
      for (int t : graph_.nodes[n].outputs) {
        if (t < 0 || buffer_of(t) != t) continue;
        if (output_[index(t)]) {
          plan.outputs += bytes_of(t);
          continue;
        }
        plan.largest = std::max(plan.largest, bytes_of(t));
        block.add(t, bytes_of(t));
        ends[last_[index(t)]].push_back(t);
      }
      for (int t : ends[n]) block.remove(t);
    }
    plan.block = block.size();
    return plan;
  }

  const model::Graph& graph_;
  const Residency residency_;
  const std::unordered_set<std::string>& open_;
  std::vector<int> buffer_;   // per tensor: the original owner of its buffer
  std::vector<int> uses_;     // per tensor: remaining reads of its buffer
  std::vector<size_t> last_;  // per tensor: the last node that needs its buffer
  std::vector<bool> output_;  // per tensor: of the graph
  std::vector<int> free_;     // buffers, the latest last
};

}  // namespace

BufferPlan plan_buffers(const model::Graph& graph, const std::unordered_set<std::string>& open) {
  return Planner(graph, open).plan();
}

}  // namespace ridge::cost
