#include "front/grpc/typed_contents.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "front/grpc/pieces_stream.h"

namespace ridge::front::grpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The lists of InferTensorContents by their number.
constexpr std::array<const char*, 9> kLists = {"",
                                               "bool_contents",
                                               "int_contents",
                                               "int64_contents",
                                               "uint_contents",
                                               "uint64_contents",
                                               "fp32_contents",
                                               "fp64_contents",
                                               "bytes_contents"};

// 0: the type has none.
int list_of(DataType type) {
  switch (type) {
    case DataType::kBool: return 1;
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32: return 2;
    case DataType::kInt64: return 3;
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32: return 4;
    case DataType::kUint64: return 5;
    case DataType::kFp32: return 6;
    case DataType::kFp64: return 7;
    case DataType::kBytes: return 8;
    default: return 0;
  }
}

Error broken() { return invalid("the typed contents are not a valid message"); }

Error only_raw(DataType type) {
  return invalid(std::string(data_type_name(type)) + " travels in raw_input_contents only");
}

// One tensor on its way.
class Packing {
 public:
  Packing(DataType type, uint64_t expected, Body& into) : type_(type), expected_(expected), into_(into) {}

  uint64_t values() const { return values_; }
  // Adds a number that was read, as 64 bits.
  Status add(uint64_t bits) {
    if (values_ == expected_) return too_many();
    ++values_;
    switch (type_) {
      case DataType::kBool: return append(static_cast<uint8_t>(bits != 0));
      case DataType::kInt8: return append_checked<int8_t>(static_cast<int32_t>(bits));
      case DataType::kInt16: return append_checked<int16_t>(static_cast<int32_t>(bits));
      case DataType::kUint8: return append_checked<uint8_t>(static_cast<uint32_t>(bits));
      case DataType::kUint16: return append_checked<uint16_t>(static_cast<uint32_t>(bits));
      case DataType::kInt32:
      case DataType::kUint32:
      case DataType::kFp32: return append(static_cast<uint32_t>(bits));
      default: return append(bits);
    }
  }
  // Adds an element of bytes_contents.
  Status add_text(CodedInputStream& in, uint32_t size) {
    if (values_ == expected_) return too_many();
    ++values_;
    RIDGE_TRY(append(size));
    return copy(in, size);
  }
  // Packed numbers of fixed size, which are the tensor's bytes.
  Status add_block(CodedInputStream& in, uint32_t size) {
    const uint64_t element = data_type_size(type_);
    if (size % element != 0) return broken();
    if (size / element > expected_ - values_) return too_many();
    values_ += size / element;
    return copy(in, size);
  }

 private:
  Error too_many() const { return invalid("more values than the " + std::to_string(expected_) + " of its shape"); }

  template <typename T>
  Status append(T value) {
    into_.append(std::as_bytes(std::span(&value, 1)));
    return {};
  }
  template <typename T, typename Wide>
  Status append_checked(Wide value) {
    if (value < Wide{std::numeric_limits<T>::min()} || value > Wide{std::numeric_limits<T>::max()})
      return invalid(std::to_string(value) + " does not fit " + std::string(data_type_name(type_)));
    return append(static_cast<T>(value));
  }
  Status copy(CodedInputStream& in, uint32_t size) {
    while (size > 0) {
      const void* data = nullptr;
      int there = 0;
      if (!in.GetDirectBufferPointer(&data, &there)) return broken();
      const int part = static_cast<int>(std::min<uint32_t>(size, static_cast<uint32_t>(there)));
      into_.append({static_cast<const std::byte*>(data), static_cast<size_t>(part)});
      in.Skip(part);
      size -= static_cast<uint32_t>(part);
    }
    return {};
  }

  DataType type_;
  uint64_t expected_, values_ = 0;
  Body& into_;
};

WireFormatLite::WireType wire_type_of(int list) {
  switch (list) {
    case 6: return WireFormatLite::WIRETYPE_FIXED32;
    case 7: return WireFormatLite::WIRETYPE_FIXED64;
    default: return WireFormatLite::WIRETYPE_VARINT;
  }
}

Status add_number(CodedInputStream& in, WireFormatLite::WireType wire, Packing& tensor) {
  uint32_t narrow = 0;
  uint64_t wide = 0;
  switch (wire) {
    case WireFormatLite::WIRETYPE_FIXED32:
      if (!in.ReadLittleEndian32(&narrow)) return broken();
      return tensor.add(narrow);
    case WireFormatLite::WIRETYPE_FIXED64:
      if (!in.ReadLittleEndian64(&wide)) return broken();
      return tensor.add(wide);
    default:
      if (!in.ReadVarint64(&wide)) return broken();
      return tensor.add(wide);
  }
}

// A list's entry: one value, or several packed ones.
Status add_entry(CodedInputStream& in, uint32_t tag, int list, Packing& tensor) {
  const auto wire = WireFormatLite::GetTagWireType(tag);
  uint32_t size = 0;
  if (wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
    return list != 8 && wire == wire_type_of(list) ? add_number(in, wire, tensor) : broken();
  if (!in.ReadVarint32(&size) || size > static_cast<uint32_t>(std::max(0, in.BytesUntilLimit()))) return broken();
  if (list == 8) return tensor.add_text(in, size);
  if (wire_type_of(list) != WireFormatLite::WIRETYPE_VARINT) return tensor.add_block(in, size);
  const CodedInputStream::Limit outer = in.PushLimit(static_cast<int>(size));
  while (in.BytesUntilLimit() > 0) RIDGE_TRY(add_number(in, WireFormatLite::WIRETYPE_VARINT, tensor));
  in.PopLimit(outer);
  return {};
}

}  // namespace

Status append_contents(std::span<const std::span<const std::byte>> contents, DataType type, const Shape& shape,
                       Body& into) {
  const int list = list_of(type);
  const std::optional<int64_t> expected = element_count(shape);
  if (!expected) return invalid("the shape " + shape_text(shape) + " is not one of a tensor");
  size_t size = 0;
  for (std::span<const std::byte> piece : contents) size += piece.size();
  PiecesStream stream(contents);
  CodedInputStream in(&stream);
  in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  in.PushLimit(static_cast<int>(size));
  Packing tensor(type, static_cast<uint64_t>(*expected), into);
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    if (field == list) {
      RIDGE_TRY(add_entry(in, tag, list, tensor));
    } else if (field < static_cast<int>(kLists.size())) {
      if (list == 0) return only_raw(type);
      return invalid(std::string("values in '") + kLists[static_cast<size_t>(field)] + "'; " +
                     std::string(data_type_name(type)) + " travels in '" + kLists[static_cast<size_t>(list)] + "'");
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return broken();
    }
  }
  if (!in.ConsumedEntireMessage()) return broken();
  if (list == 0 && *expected > 0) return only_raw(type);
  if (tensor.values() != static_cast<uint64_t>(*expected))
    return invalid("got " + std::to_string(tensor.values()) + " values, the shape " + shape_text(shape) + " has " +
                   std::to_string(*expected));
  return {};
}

}  // namespace ridge::front::grpc
