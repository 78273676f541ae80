#include "serve/response_cache.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "serve/job.h"

namespace ridge::serve {
namespace {

// Overhead of the nodes of list and table, their share of the table's slots, and the allocator's rounding; and of each
// output's texts and shape.
constexpr uint64_t kAnswerOverhead = 256, kOutputOverhead = 64;  // [bytes]
constexpr size_t kAlignment = 64;                                // of each output [bytes]

void append(std::string& text, int64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); }

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

size_t aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

bool equal(const CacheKey& key, std::string_view kept) {
  if (!kept.starts_with(key.head)) return false;  // it has the inputs' sizes
  kept.remove_prefix(key.head.size());
  for (const std::span<const std::byte> input : key.inputs) {
    if (!kept.starts_with(text_of(input))) return false;
    kept.remove_prefix(input.size());
  }
  return kept.empty();
}

uint64_t bytes_of(const CacheKey& key, std::span<const ResponseOutput> outputs) {
  uint64_t bytes = kAnswerOverhead + key.head.size();
  for (const std::span<const std::byte> input : key.inputs) bytes += input.size();
  for (const ResponseOutput& output : outputs)
    bytes += kOutputOverhead + sizeof output + output.name.size() + output.shape.size() * sizeof(int64_t) +
             aligned(output.data.size());
  return bytes;
}

}  // namespace

bool is_cacheable(const Job& job) {
  const auto is_outside = [](const auto& tensor) { return tensor.part.has_value(); };
  return std::none_of(job.request.inputs.begin(), job.request.inputs.end(), is_outside) &&
         std::none_of(job.wanted.begin(), job.wanted.end(), is_outside);
}

CacheKey cache_key_of(const Job& job, uint64_t owner) {
  CacheKey key;
  key.owner = owner;
  append(key.head, static_cast<int64_t>(owner));
  append(key.head, static_cast<int64_t>(job.wanted.size()));
  for (const WantedOutput& output : job.wanted) {
    append(key.head, output.index);
    append(key.head, output.classification);
  }
  for (const RequestInput& input : job.request.inputs) {
    append(key.head, static_cast<int64_t>(input.type));
    append(key.head, static_cast<int64_t>(input.shape.size()));
    for (const int64_t dimension : input.shape) append(key.head, dimension);
    append(key.head, static_cast<int64_t>(input.data.size()));
    key.inputs.push_back(input.data);
  }
  key.hash = std::hash<std::string_view>{}(key.head);
  for (const std::span<const std::byte> input : key.inputs)
    key.hash = key.hash * 0x9E3779B97F4A7C15 + std::hash<std::string_view>{}(text_of(input));
  return key;
}

uint64_t ResponseCache::new_owner() {
  MutexLock lock(mutex_);
  return ++last_owner_;
}

uint64_t ResponseCache::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

std::optional<std::vector<ResponseOutput>> ResponseCache::find(const CacheKey& key) {
  AnswerPtr answer;
  {
    MutexLock lock(mutex_);
    const auto place = by_hash_.find(key.hash);
    if (place == by_hash_.end()) return std::nullopt;
    by_use_.splice(by_use_.begin(), by_use_, place->second);
    answer = by_use_.front();
  }
  if (!equal(key, answer->key)) return std::nullopt;
  std::vector<ResponseOutput> outputs = answer->outputs;
  for (ResponseOutput& output : outputs) output.owner = answer;
  return outputs;
}

ResponseCache::AnswerPtr ResponseCache::copy_of(const CacheKey& key, std::span<const ResponseOutput> outputs,
                                                uint64_t bytes) {
  auto answer = std::make_shared<Answer>();
  answer->owner = key.owner;
  answer->hash = key.hash;
  answer->bytes = bytes;
  size_t size = key.head.size();
  for (const std::span<const std::byte> input : key.inputs) size += input.size();
  answer->key.reserve(size);
  answer->key = key.head;
  for (const std::span<const std::byte> input : key.inputs) answer->key += text_of(input);
  answer->outputs.assign(outputs.begin(), outputs.end());
  size = 0;
  for (const ResponseOutput& output : outputs) size += aligned(output.data.size());
  answer->memory = Buffer(size);
  std::span<std::byte> left = answer->memory.span();
  for (ResponseOutput& output : answer->outputs) {
    std::copy(output.data.begin(), output.data.end(), left.begin());
    output.data = left.first(output.data.size());
    output.owner.reset();
    left = left.subspan(aligned(output.data.size()));
  }
  return answer;
}

ResponseCache::AnswerPtr ResponseCache::take_out(Order::iterator answer) {
  AnswerPtr taken = std::move(*answer);
  bytes_ -= taken->bytes;
  by_hash_.erase(taken->hash);
  by_use_.erase(answer);
  return taken;
}

void ResponseCache::insert(const CacheKey& key, std::span<const ResponseOutput> outputs) {
  const uint64_t bytes = bytes_of(key, outputs);
  if (bytes > limit_bytes_) return;
  std::vector<AnswerPtr> replaced;  // freed without the lock
  try {
    AnswerPtr answer = copy_of(key, outputs, bytes);
    MutexLock lock(mutex_);
    if (const auto place = by_hash_.find(key.hash); place != by_hash_.end())
      replaced.push_back(take_out(place->second));
    while (bytes_ + bytes > limit_bytes_) replaced.push_back(take_out(std::prev(by_use_.end())));
    by_use_.push_front(std::move(answer));
    bytes_ += bytes;
    by_hash_[key.hash] = by_use_.begin();
  } catch (const std::bad_alloc&) {
    return;  // an answer that is in the list alone is never found, and goes as the others do
  }
}

void ResponseCache::drop(uint64_t owner) {
  std::vector<AnswerPtr> dropped;
  MutexLock lock(mutex_);
  for (auto answer = by_use_.begin(); answer != by_use_.end();) {
    const auto next = std::next(answer);
    if ((*answer)->owner == owner) dropped.push_back(take_out(answer));
    answer = next;
  }
}

}  // namespace ridge::serve
