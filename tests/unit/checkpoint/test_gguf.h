// For tests: writes GGUF files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace ridge::checkpoint {

class TestGguf {
 public:
  explicit TestGguf(uint32_t version = 3) : version_(version) {}

  TestGguf& number(const std::string& key, uint32_t value) { return entry(key, 4, raw(value)); }
  TestGguf& real(const std::string& key, float value) { return entry(key, 6, raw(value)); }
  TestGguf& flag(const std::string& key, bool value) { return entry(key, 7, raw<uint8_t>(value ? 1 : 0)); }
  TestGguf& text(const std::string& key, std::string_view value) { return entry(key, 8, counted(value)); }
  TestGguf& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string bytes = raw<uint32_t>(8) + raw<uint64_t>(values.size());
    for (const std::string& value : values) bytes += counted(value);
    return entry(key, 9, bytes);
  }
  TestGguf& numbers(const std::string& key, const std::vector<int32_t>& values) { return array(key, 5, values); }
  TestGguf& reals(const std::string& key, const std::vector<float>& values) { return array(key, 6, values); }
  // An entry of any type, as its bytes.
  TestGguf& entry(const std::string& key, uint32_t type, const std::string& bytes) {
    metadata_ += counted(key) + raw(type) + bytes;
    ++keys_;
    return *this;
  }
  // `type`: a number of StoredType. The shape is outermost first.
  TestGguf& tensor(const std::string& name, const Shape& shape, uint32_t type, const std::string& data) {
    data_.resize((data_.size() + kAlign - 1) / kAlign * kAlign);
    table_ += counted(name) + raw(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i > 0; --i) table_ += raw(shape[i - 1]);
    table_ += raw(type) + raw<uint64_t>(data_.size());
    data_ += data;
    ++tensors_;
    return *this;
  }
  std::string bytes() const {
    std::string file = "GGUF" + raw(version_) + raw(tensors_) + raw(keys_) + metadata_ + table_;
    file.resize((file.size() + kAlign - 1) / kAlign * kAlign);
    return file + data_;
  }

  template <typename T>
  static std::string raw(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string counted(std::string_view text) { return raw<uint64_t>(text.size()) + std::string(text); }

 private:
  static constexpr size_t kAlign = 32;
  template <typename T>
  TestGguf& array(const std::string& key, uint32_t type, const std::vector<T>& values) {
    return entry(key, 9,
                 raw(type) + raw<uint64_t>(values.size()) +
                     std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }

  uint32_t version_;
  uint64_t keys_ = 0, tensors_ = 0;
  std::string metadata_, table_, data_;
};

}  // namespace ridge::checkpoint
