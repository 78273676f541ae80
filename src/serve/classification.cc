#include "serve/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/number_type.h"

namespace ridge::serve {
namespace {

template <typename T>
T value_at(std::span<const std::byte> row, size_t index) {
  T value;
  std::memcpy(&value, row.data() + index * sizeof(T), sizeof(T));
  return value;
}

// A strict weak order in which NaN comes after every number.
template <typename T>
bool comes_before(T left, T right) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(left)) return false;
    if (std::isnan(right)) return true;
  }
  return left > right;
}

template <typename T>
std::string value_text(T value) {
  if constexpr (std::is_floating_point_v<T>) return fmt::format("{:f}", value);
  if constexpr (!std::is_floating_point_v<T>) return fmt::format("{}", value);
}

void append_element(const std::string& text, std::vector<std::byte>& block) {
  auto length = static_cast<uint32_t>(text.size());
  size_t at = block.size();
  block.resize(at + sizeof length + text.size());
  std::memcpy(block.data() + at, &length, sizeof length);
  std::memcpy(block.data() + at + sizeof length, text.data(), text.size());
}

template <typename T>
size_t append(std::span<const std::byte> row, size_t k, const std::vector<std::string>& labels,
              std::vector<std::byte>& block) {
  std::vector<size_t> order(row.size() / sizeof(T));
  std::iota(order.begin(), order.end(), size_t{0});
  k = std::min(k, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [&](size_t a, size_t b) {
                      T left = value_at<T>(row, a), right = value_at<T>(row, b);
                      if (comes_before(left, right)) return true;
                      if (comes_before(right, left)) return false;
                      return a < b;
                    });
  for (size_t i = 0; i < k; ++i) {
    std::string text = value_text(value_at<T>(row, order[i])) + ":" + std::to_string(order[i]);
    if (order[i] < labels.size() && !labels[order[i]].empty()) text += ":" + labels[order[i]];
    append_element(text, block);
  }
  return k;
}

}  // namespace

bool can_classify(DataType type) {
  return with_number_type(type, [](auto) { return true; }, [] { return false; });
}

size_t append_top_classes(DataType type, std::span<const std::byte> row, size_t k,
                          const std::vector<std::string>& labels, std::vector<std::byte>& block) {
  return with_number_type(
      type, [&](auto zero) { return append<decltype(zero)>(row, k, labels, block); }, [] { return size_t{0}; });
}

ResponseOutput top_classes(ResponseOutput scores, int64_t k, const std::vector<std::string>& labels, bool batching) {
  auto block = std::make_shared<std::vector<std::byte>>();
  const int64_t rows = batching ? scores.shape[0] : 1;
  const size_t row_size = rows > 0 ? scores.data.size() / static_cast<size_t>(rows) : 0;
  size_t found = 0;
  for (int64_t row = 0; row < rows; ++row)
    found = append_top_classes(scores.type, scores.data.subspan(static_cast<size_t>(row) * row_size, row_size),
                               static_cast<size_t>(k), labels, *block);
  scores.type = DataType::kBytes;
  scores.shape = {static_cast<int64_t>(found)};
  if (batching) scores.shape.insert(scores.shape.begin(), rows);
  scores.data = *block;
  scores.owner = std::move(block);
  return scores;
}

}  // namespace ridge::serve
