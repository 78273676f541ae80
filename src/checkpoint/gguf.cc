#include "checkpoint/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ridge::checkpoint {
namespace {

constexpr uint32_t kOldest = 2, kNewest = 3;
constexpr int64_t kUsualAlignment = 32;  // [bytes]
constexpr uint64_t kMostKeys = 10'000;   // published files have some dozens
constexpr size_t kMostDimensions = 2;    // that a decoder's weights have

// Takes values off the front of the file. After the first that is not there, all are 0 and failed() says so.
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> file) : file_(file) {}

  template <typename T>
  T number() {
    T value{};
    if (const auto bytes = take(sizeof value); !bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() {
    const std::span<const std::byte> bytes = take(number<uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  size_t at() const { return at_; }
  size_t left() const { return file_.size() - at_; }
  Error cut_off(std::string_view where) const {
    return invalid(
        fmt::format("{} would end behind the file's {} bytes: it was cut short, or is damaged", where, file_.size()));
  }

 private:
  std::span<const std::byte> take(uint64_t count) {
    failed_ = failed_ || count > left();
    if (failed_) return {};
    const auto bytes = file_.subspan(at_, count);
    at_ += count;
    return bytes;
  }
  std::span<const std::byte> file_;
  size_t at_ = 0;
  bool failed_ = false;
};

template <typename T>
Json number_value(GgufCursor& cursor) {
  return cursor.number<T>();
}

// Indexed by the type's number. Every value has a byte at least, so an array has at most one per byte of the file.
using ReadValue = Json (*)(GgufCursor&);
constexpr uint32_t kArrayType = 9;
constexpr std::array<ReadValue, 13> kValueTypes = {
    number_value<uint8_t>,
    number_value<int8_t>,
    number_value<uint16_t>,
    number_value<int16_t>,
    number_value<uint32_t>,
    number_value<int32_t>,
    number_value<float>,
    [](GgufCursor& cursor) { return Json(cursor.number<uint8_t>() != 0); },
    [](GgufCursor& cursor) { return Json(cursor.text()); },
    nullptr,  // array
    number_value<uint64_t>,
    number_value<int64_t>,
    number_value<double>};

Result<ReadValue> value_type(uint32_t number) {
  if (number < kValueTypes.size() && kValueTypes[number] != nullptr) return kValueTypes[number];
  if (number == kArrayType) return Error{Code::kUnsupported, "it is an array of arrays, which ridge does not read"};
  return invalid(fmt::format("it has a type {}, which is none", number));
}

Result<Json> read_value(GgufCursor& cursor) {
  const auto type = cursor.number<uint32_t>();
  if (type != kArrayType) {
    RIDGE_ASSIGN(const ReadValue read, value_type(type));
    return read(cursor);
  }
  RIDGE_ASSIGN(const ReadValue read, value_type(cursor.number<uint32_t>()));
  const auto count = cursor.number<uint64_t>();
  Json::array_t values;
  if (count > cursor.left())
    cursor.fail();
  else
    values.reserve(count);
  for (uint64_t i = 0; i < count && !cursor.failed(); ++i) values.push_back(read(cursor));
  return Json(std::move(values));
}

Result<Json> read_metadata(GgufCursor& cursor, uint64_t count) {
  Json metadata = Json::object();
  for (uint64_t i = 0; i < count; ++i) {
    const std::string key = cursor.text();
    if (cursor.failed()) return cursor.cut_off("the metadata");
    Result<Json> value = read_value(cursor);
    if (!value) return wrap(std::move(value).error(), "metadata '" + key + "'");
    if (cursor.failed()) return cursor.cut_off("metadata '" + key + "'");
    if (!metadata.emplace(key, std::move(*value)).second) return invalid("metadata '" + key + "' is there twice");
  }
  return metadata;
}

struct TensorRecord {
  std::string name;
  Weight tensor;  // without its data
  uint64_t offset = 0, bytes = 0;
};

Result<TensorRecord> read_record(GgufCursor& cursor) {
  TensorRecord record;
  record.name = cursor.text();
  const auto dimensions = cursor.number<uint32_t>();
  if (!cursor.failed() && (dimensions == 0 || dimensions > kMostDimensions))
    return Error{Code::kUnsupported,
                 fmt::format("tensor '{}' has {} dimensions; a decoder's have one or two", record.name, dimensions)};
  for (uint32_t i = 0; i < dimensions && !cursor.failed(); ++i)
    record.tensor.shape.insert(record.tensor.shape.begin(), cursor.number<int64_t>());
  const auto type = cursor.number<uint32_t>();
  record.offset = cursor.number<uint64_t>();
  if (cursor.failed()) return cursor.cut_off("the table of tensors");
  record.tensor.type = stored_type(type);
  if (record.tensor.type == nullptr)
    return Error{Code::kUnsupported, fmt::format("tensor '{}' is of type {}, which ridge does not know; it reads {}",
                                                 record.name, type, decoded_types())};
  const std::optional<size_t> bytes = stored_bytes(*record.tensor.type, record.tensor.shape);
  if (!bytes || *bytes == 0)
    return invalid(fmt::format("tensor '{}' of type {} cannot have the shape {}", record.name, record.tensor.type->name,
                               shape_text(record.tensor.shape)));
  record.bytes = *bytes;
  return record;
}

Result<uint64_t> alignment_of(const Json& metadata) {
  RIDGE_ASSIGN(const int64_t alignment, json_member_or<int64_t>(metadata, "general.alignment", kUsualAlignment));
  if (alignment > 0 && alignment <= (1 << 20) && (alignment & (alignment - 1)) == 0)
    return static_cast<uint64_t>(alignment);
  return invalid(fmt::format("general.alignment is {}; it should be a power of two", alignment));
}

Status place(std::vector<TensorRecord>& records, std::span<const std::byte> data, Gguf& read) {
  std::ranges::sort(records, {}, &TensorRecord::offset);
  uint64_t end = 0;
  for (TensorRecord& record : records) {
    if (record.offset > data.size() || record.bytes > data.size() - record.offset)
      return invalid(fmt::format(
          "tensor '{}' of {} bytes should lie at byte {} of the {} that the file has for tensors: it was cut short, or "
          "is damaged",
          record.name, record.bytes, record.offset, data.size()));
    if (record.offset < end) return invalid("tensor '" + record.name + "' lies over another");
    end = record.offset + record.bytes;
    record.tensor.data = data.subspan(record.offset, record.bytes);
    if (!read.tensors.emplace(record.name, std::move(record.tensor)).second)
      return invalid("tensor '" + record.name + "' is there twice");
  }
  return {};
}

}  // namespace

Result<Gguf> read_gguf(std::span<const std::byte> file) {
  GgufCursor cursor(file);
  std::array<char, 4> magic = {};
  for (char& letter : magic) letter = cursor.number<char>();
  const auto version = cursor.number<uint32_t>();
  if (cursor.failed() || std::string_view(magic.data(), magic.size()) != "GGUF")
    return invalid("it does not begin as a GGUF file does");
  if (version < kOldest || version > kNewest)
    return Error{Code::kUnsupported, fmt::format("it is of GGUF's version {}{}; ridge reads {} and {}", version,
                                                 version >> 16 == 0 ? "" : ", or big-endian", kOldest, kNewest)};
  const auto tensors = cursor.number<uint64_t>();
  const auto keys = cursor.number<uint64_t>();
  if (cursor.failed()) return cursor.cut_off("the header");
  if (keys > kMostKeys) return invalid(fmt::format("it should have {} keys of metadata: it is damaged", keys));
  Gguf read;
  RIDGE_ASSIGN(read.metadata, read_metadata(cursor, keys));
  RIDGE_ASSIGN(const uint64_t alignment, alignment_of(read.metadata));
  std::vector<TensorRecord> records;
  for (uint64_t i = 0; i < tensors; ++i) {
    RIDGE_ASSIGN(TensorRecord record, read_record(cursor));
    records.push_back(std::move(record));
  }
  const size_t begin = (cursor.at() + alignment - 1) / alignment * alignment;
  RIDGE_TRY(place(records, file.subspan(std::min(begin, file.size())), read));
  return read;
}

}  // namespace ridge::checkpoint
