#include "predict/loading.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace ridge::predict {
namespace {

constexpr int64_t kTensorAlignment = 64;     // of tensors: MlasGetPreferredBufferAlignment
constexpr int64_t kFileBuffer = 4 << 20;     // through which protobuf reads the file
constexpr int64_t kSafeString = 50'000'000;  // protobuf reserves so much at once and doubles from there on
constexpr int kBlockedForm = 1 << 28;        // added to the number of a weight: its blocked form
constexpr int64_t kSmall = 127;              // weights up to this size stay in the parsed file

class Loading {
 public:
  explicit Loading(HeapModel& heap) : heap_(heap) {}

  void parse(const std::vector<EngineWeight>& stored) {
    int64_t whole = 0;
    for (const EngineWeight& weight : stored) whole += weight.bytes;
    if (whole >= kFileBuffer) file_buffer_ = heap_.allocate(kFileBuffer);
    for (const EngineWeight& weight : stored) held_[weight.id] = {parse_text(weight.bytes), weight.bytes};
  }
  // Into tensors of their own, one after the other.
  void convert(const std::vector<EngineWeight>& stored) {
    if (file_buffer_) heap_.release(*file_buffer_);
    for (const EngineWeight& weight : stored)
      if (weight.bytes > kSmall) replace(weight.id, weight.bytes, heap_.allocate(weight.bytes, kTensorAlignment));
  }
  void compute(const std::vector<EngineWeight>& computed) {
    for (const EngineWeight& weight : computed)
      held_[weight.id] = {heap_.allocate(weight.bytes, kTensorAlignment), weight.bytes};
  }
  // A pass makes all new weights; the old ones go when it has ended.
  void fold(const std::vector<EngineWeight>& folded) {
    for (const EngineWeight& weight : folded) {
      HeapModel::Block copy = heap_.allocate(weight.bytes, kTensorAlignment);
      HeapModel::Block product = heap_.allocate(weight.bytes);
      held_[weight.id] = {heap_.allocate(weight.bytes, kTensorAlignment), weight.bytes};
      replaced_.insert(weight.from);
      heap_.release(product);
      heap_.release(copy);
    }
    drop_replaced();
  }
  void block(const std::vector<EngineWeight>& blocked) {
    for (const EngineWeight& weight : blocked) {
      HeapModel::Block copy = heap_.allocate(weight.bytes, kTensorAlignment);
      HeapModel::Block reordered = heap_.allocate(weight.after_bytes);
      HeapModel::Block text = heap_.allocate(weight.after_bytes);
      put_aside(weight, heap_.allocate(weight.after_bytes, kTensorAlignment));
      heap_.release(text);
      heap_.release(reordered);
      heap_.release(copy);
    }
    drop_replaced();
  }
  // One after the other; the old one goes at once, unless another node needs it too.
  void pack(const std::vector<EngineWeight>& packed) {
    std::map<int, int> uses;
    for (const EngineWeight& weight : packed) ++uses[weight.id];
    for (const EngineWeight& weight : packed) {
      std::optional<HeapModel::Block> aside;
      if (weight.aside_bytes > 0) aside = heap_.allocate(weight.aside_bytes, kTensorAlignment);
      HeapModel::Block made = heap_.allocate(weight.after_bytes, kTensorAlignment);
      if (aside) heap_.release(*aside);
      packed_bytes_ += weight.after_bytes;
      auto old = held_.find(weight.id);
      if (--uses[weight.id] > 0 || old == held_.end()) continue;
      heap_.release(old->second.block);
      held_.erase(old);
      (void)made;
    }
  }
  int64_t held_bytes() const {
    int64_t bytes = packed_bytes_;
    for (const auto& [id, held] : held_) bytes += held.bytes;
    return bytes;
  }

 private:
  struct Held {
    HeapModel::Block block;
    int64_t bytes;
  };

  HeapModel::Block parse_text(int64_t bytes) {
    if (bytes <= kSafeString) return heap_.allocate(bytes + 1);
    int64_t room = kSafeString;
    HeapModel::Block block = heap_.allocate(room + 1);
    for (; room < bytes; room *= 2) {
      HeapModel::Block larger = heap_.allocate(2 * room + 1, 16, std::min(bytes, 2 * room));
      heap_.release(block);
      block = larger;
    }
    return block;
  }
  void replace(int id, int64_t bytes, HeapModel::Block made) {
    if (auto old = held_.find(id); old != held_.end()) heap_.release(old->second.block);
    held_[id] = {made, bytes};
  }
  void put_aside(const EngineWeight& weight, HeapModel::Block made) {
    held_[kBlockedForm + weight.id] = {made, weight.after_bytes};
    replaced_.insert(weight.id);
  }
  void drop_replaced() {
    for (int id : replaced_)
      if (auto old = held_.find(id); old != held_.end()) {
        heap_.release(old->second.block);
        held_.erase(old);
      }
    replaced_.clear();
  }

  HeapModel& heap_;
  std::optional<HeapModel::Block> file_buffer_;
  std::map<int, Held> held_;
  std::set<int> replaced_;  // by a pass that has not ended
  int64_t packed_bytes_ = 0;
};

}  // namespace

int64_t load_weights(const EngineWeights& weights, HeapModel& heap) {
  Loading loading(heap);
  loading.parse(weights.stored);
  loading.convert(weights.stored);
  loading.compute(weights.computed);
  loading.fold(weights.folded);
  loading.block(weights.blocked);
  loading.pack(weights.packed);
  return loading.held_bytes();
}

}  // namespace ridge::predict
