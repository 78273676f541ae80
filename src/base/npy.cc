#include "base/npy.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/json.h"

namespace ridge {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kDataAlignment = 64;  // of the data in a written file; NumPy's own since 1.14
constexpr size_t kMostDimensions = 64;
constexpr uint64_t kLongestHead = 1 << 20;  // of a file, with its header; plain arrays have a few hundred bytes

struct NumpyType {
  std::string_view descr;  // without the byte order
  DataType type;
};
constexpr std::array<NumpyType, 13> kNumpyTypes = {{{"b1", DataType::kBool},
                                                    {"u1", DataType::kUint8},
                                                    {"u2", DataType::kUint16},
                                                    {"u4", DataType::kUint32},
                                                    {"u8", DataType::kUint64},
                                                    {"i1", DataType::kInt8},
                                                    {"i2", DataType::kInt16},
                                                    {"i4", DataType::kInt32},
                                                    {"i8", DataType::kInt64},
                                                    {"f2", DataType::kFp16},
                                                    {"f4", DataType::kFp32},
                                                    {"f8", DataType::kFp64},
                                                    {"V2", DataType::kBf16}}};

struct Header {
  std::string descr;
  bool column_major = false;
  Shape shape;
};

// The layout of the elements in the file.
struct Layout {
  DataType type = DataType::kInvalid;
  size_t item = 0;  // [bytes] of an element
  bool big_endian = false;
  bool unicode = false;  // BYTES: four bytes per character
};

// The Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, read as JSON.
std::optional<Header> header_in(std::string_view python) {
  std::string text;
  for (const char c : python) {
    if (c == ' ' || c == '\n' || c == 'L') continue;  // Python 2 wrote long integers as 3L
    if ((c == ')' || c == '}') && text.ends_with(',')) text.pop_back();
    text += c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c;
  }
  for (const auto& [word, value] : {std::pair<std::string_view, std::string_view>("True", "true"), {"False", "false"}})
    if (const size_t at = text.find(":" + std::string(word)); at != std::string::npos)
      text.replace(at + 1, word.size(), value);
  const Result<Json> json = parse_json(text, "");
  if (!json || !json->is_object() || json->size() != 3) return std::nullopt;
  const Json descr = json->value("descr", Json()), order = json->value("fortran_order", Json()),
             shape = json->value("shape", Json());
  if (!descr.is_string() || !order.is_boolean() || !shape.is_array() || shape.size() > kMostDimensions)
    return std::nullopt;
  Header header{.descr = descr, .column_major = order, .shape = {}};
  for (const Json& size : shape) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > INT64_MAX) return std::nullopt;
    header.shape.push_back(size);
  }
  return header;
}

Result<Layout> layout_of(const std::string& descr, std::string_view what) {
  const auto refuse = [&] {
    return unreadable_array(what,
                            fmt::format("its elements are of NumPy's type '{}'; readable are bool, integers, floats, "
                                        "bfloat16 ('V2') and strings ('S', 'U'): convert with .astype()",
                                        descr.substr(0, 40)));
  };
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) return refuse();
  Layout layout;
  layout.big_endian = descr[0] == '>';
  const std::string_view kind = std::string_view(descr).substr(1);
  for (const NumpyType& row : kNumpyTypes)
    if (row.descr == kind) layout.type = row.type;
  if (layout.type != DataType::kInvalid) {
    layout.item = data_type_size(layout.type);
    return layout;
  }
  if (kind[0] != 'S' && kind[0] != 'U') return refuse();
  uint32_t width = 0;
  auto [end, error] = std::from_chars(kind.data() + 1, kind.data() + kind.size(), width);
  if (error != std::errc() || end != kind.data() + kind.size() || width == 0 || width > (1U << 28)) return refuse();
  layout.type = DataType::kBytes;
  layout.unicode = kind[0] == 'U';
  layout.item = layout.unicode ? size_t{4} * width : width;
  return layout;
}

// The bytes of the header's text, and where the data begins.
struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};
Result<Parts> split(std::span<const std::byte> bytes, std::string_view what) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    return unreadable_array(what, "this is not a .npy file (its first bytes are not \\x93NUMPY)");
  if (text.size() < 10) return unreadable_array(what, "the file is cut off in its header");
  const auto at = [&](size_t index) { return static_cast<size_t>(static_cast<unsigned char>(text[index])); };
  const size_t version = at(6);
  if (version < 1 || version > 3)
    return unreadable_array(what, fmt::format("version {} of the .npy format is not known (1 to 3 are)", version));
  const size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) return unreadable_array(what, "the file is cut off in its header");
  size_t length = at(8) | at(9) << 8;
  if (version > 1) length |= at(10) << 16 | at(11) << 24;
  if (text.size() - start < length) return unreadable_array(what, "the file is cut off in its header");
  return Parts{text.substr(start, length), bytes.subspan(start + length)};
}

// The array in the bytes behind a header, if its shape fits them.
struct Described {
  Header header;
  Layout layout;
};
Result<Described> described(std::string_view text, uint64_t data_bytes, std::string_view what) {
  std::optional<Header> header = header_in(text);
  if (!header)
    return unreadable_array(what, fmt::format("its header is not one of a plain array: {}", text.substr(0, 120)));
  RIDGE_ASSIGN(const Layout layout, layout_of(header->descr, what));
  const std::optional<int64_t> count = element_count(header->shape);
  const uint64_t held = data_bytes / layout.item;
  if (!count || static_cast<uint64_t>(*count) != held || data_bytes % layout.item != 0)
    return unreadable_array(what, fmt::format("shape {} of '{}' does not fit the {} bytes of data behind the header",
                                              shape_text(header->shape), header->descr, data_bytes));
  return Described{std::move(*header), layout};
}

void reverse_items(std::span<std::byte> data, size_t item) {
  for (size_t at = 0; at + item <= data.size(); at += item)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + item));
}

// Converts elements from column-major to row-major order.
Buffer to_row_major(std::span<const std::byte> data, const Shape& shape, size_t item) {
  Buffer result(data.size());
  std::vector<size_t> strides(shape.size()), index(shape.size(), 0);
  size_t stride = item;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<size_t>(shape[d]);
  }
  size_t from = 0;
  for (size_t to = 0; to < data.size(); to += item) {
    std::memcpy(result.data() + to, data.data() + from, item);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < static_cast<size_t>(shape[d])) break;
      from -= strides[d] * index[d];
      index[d] = 0;
    }
  }
  return result;
}

void append_utf8(uint32_t code, std::string& text) {
  const auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
    return byte(0x80 | (code & 0x3f));
  }
  if (code < 0x10000) {
    byte(0xe0 | code >> 12);
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
  }
  byte(0x80 | (code >> 6 & 0x3f));
  byte(0x80 | (code & 0x3f));
}

// One fixed-width string without its zero padding; nullopt: not Unicode.
std::optional<std::string> string_in(std::span<const std::byte> item, bool unicode) {
  std::string text;
  if (!unicode) {
    text.assign(reinterpret_cast<const char*>(item.data()), item.size());
  } else {
    for (size_t at = 0; at < item.size(); at += 4) {
      uint32_t code = 0;
      std::memcpy(&code, item.data() + at, sizeof code);
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return std::nullopt;
      append_utf8(code, text);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

Result<Buffer> to_bytes_block(std::span<const std::byte> data, const Layout& layout, std::string_view what) {
  std::string block;
  for (size_t at = 0; at < data.size(); at += layout.item) {
    std::optional<std::string> text = string_in(data.subspan(at, layout.item), layout.unicode);
    if (!text) return unreadable_array(what, "a string holds something that is not a Unicode character");
    const auto length = static_cast<uint32_t>(text->size());
    block.append(reinterpret_cast<const char*>(&length), sizeof length);
    block += *text;
  }
  Buffer buffer(block.size());
  if (!block.empty()) std::memcpy(buffer.data(), block.data(), block.size());
  return buffer;
}

// The strings of a checked BYTES block.
std::vector<std::string_view> strings_of(std::span<const std::byte> block) {
  std::vector<std::string_view> strings;
  for (size_t at = 0; at < block.size();) {
    uint32_t length = 0;
    std::memcpy(&length, block.data() + at, sizeof length);
    strings.emplace_back(reinterpret_cast<const char*>(block.data()) + at + sizeof length, length);
    at += sizeof length + length;
  }
  return strings;
}

std::string header_text(const std::string& descr, const Shape& shape) {
  std::string dimensions;
  for (int64_t dimension : shape) dimensions += std::to_string(dimension) + ", ";
  if (shape.size() > 1) dimensions.resize(dimensions.size() - 2);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dimensions);
  const size_t unpadded = 10 + text.size() + 1;
  text.append((kDataAlignment - unpadded % kDataAlignment) % kDataAlignment, ' ');
  text += '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\x00';
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Result<std::string> write_strings(const TensorView& tensor) {
  const std::optional<int64_t> count = element_count(tensor.shape);
  if (!count) return Error{Code::kInvalid, "write an array: its shape is not complete"};
  RIDGE_TRY(check_bytes_block(tensor.data, *count));
  const std::vector<std::string_view> strings = strings_of(tensor.data);
  size_t width = 1;
  for (std::string_view text : strings) {
    width = std::max(width, text.size());
    if (!text.empty() && text.back() == '\0')
      return Error{Code::kUnsupported,
                   "write an array: a string ends in a zero byte, which NumPy's strings cannot hold"};
  }
  std::string file = header_text(fmt::format("|S{}", width), tensor.shape);
  for (std::string_view text : strings) {
    file += text;
    file.append(width - text.size(), '\0');
  }
  return file;
}

Result<uint64_t> size_of(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (fstat(file.number(), &status) == 0) return static_cast<uint64_t>(status.st_size);
  return Error{Code::kFailed, fmt::format("read {}: {}", path, std::strerror(errno))};
}

Status read_at(const Descriptor& file, uint64_t offset, std::span<std::byte> memory, const std::string& path) {
  while (!memory.empty()) {
    const ssize_t got = pread(file.number(), memory.data(), memory.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Code::kFailed, fmt::format("read {}: {}", path, std::strerror(errno))};
    if (got == 0) return unreadable_array(path, "it became shorter while it was read");
    memory = memory.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

// Rows of a tensor of numbers.
Tensor rows_of(const Tensor& whole, std::span<const int64_t> rows) {
  Tensor tensor{whole.type, whole.shape, {}};
  tensor.shape[0] = static_cast<int64_t>(rows.size());
  const size_t row = whole.shape[0] > 0 ? whole.data.size() / static_cast<size_t>(whole.shape[0]) : 0;
  tensor.data = Buffer(row * rows.size());
  for (size_t i = 0; i < rows.size() && row > 0; ++i)
    std::memcpy(tensor.data.data() + i * row, whole.data.data() + static_cast<size_t>(rows[i]) * row, row);
  return tensor;
}

}  // namespace

Result<Tensor> read_npy(std::span<const std::byte> bytes, std::string_view what) {
  RIDGE_ASSIGN(const Parts parts, split(bytes, what));
  RIDGE_ASSIGN(const Described array, described(parts.header, parts.data.size(), what));
  const auto& [header, layout] = array;
  Tensor tensor{layout.type, header.shape, {}};
  Buffer data;
  if (header.column_major) {
    data = to_row_major(parts.data, header.shape, layout.item);
  } else {
    data = Buffer(parts.data.size());
    if (!parts.data.empty()) std::memcpy(data.data(), parts.data.data(), parts.data.size());
  }
  if (layout.big_endian)
    reverse_items(data.span(), layout.unicode ? 4 : layout.type == DataType::kBytes ? 1 : layout.item);
  if (layout.type == DataType::kBytes) {
    RIDGE_ASSIGN(tensor.data, to_bytes_block(data.span(), layout, what));
  } else {
    tensor.data = std::move(data);
  }
  return tensor;
}

Result<Tensor> read_npy_file(const std::string& path, const ChooseRows& choose) {
  RIDGE_ASSIGN(const Descriptor file, open_regular_file(path));
  RIDGE_ASSIGN(const uint64_t size, size_of(file, path));
  std::string head(std::min<uint64_t>(size, kLongestHead), '\0');
  RIDGE_TRY(read_at(file, 0, std::as_writable_bytes(std::span(head)), path));
  const Result<Parts> parts = split(std::as_bytes(std::span(head)), path);
  if (!parts) return parts.error();
  const uint64_t begin = head.size() - parts->data.size();
  RIDGE_ASSIGN(const Described array, described(parts->header, size - begin, path));
  const auto& [header, layout] = array;
  const std::optional<std::vector<int64_t>> rows = choose(header.shape);
  if (header.column_major || layout.type == DataType::kBytes || header.shape.empty() || header.shape[0] == 0) {
    RIDGE_ASSIGN(const std::string content, read_file(path, kAnySize));
    RIDGE_ASSIGN(Tensor whole, read_npy(std::as_bytes(std::span(content)), path));
    return rows && layout.type != DataType::kBytes && !header.shape.empty() ? rows_of(whole, *rows) : std::move(whole);
  }
  const uint64_t row_bytes = (size - begin) / static_cast<uint64_t>(header.shape[0]);
  Tensor tensor{layout.type, header.shape, {}};
  if (!rows) {
    tensor.data = Buffer(size - begin);
    RIDGE_TRY(read_at(file, begin, tensor.data.span(), path));
  } else {
    tensor.shape[0] = static_cast<int64_t>(rows->size());
    tensor.data = Buffer(row_bytes * rows->size());
    for (size_t i = 0; i < rows->size(); ++i)
      RIDGE_TRY(read_at(file, begin + row_bytes * static_cast<uint64_t>((*rows)[i]),
                        tensor.data.span().subspan(row_bytes * i, row_bytes), path));
  }
  if (layout.big_endian) reverse_items(tensor.data.span(), layout.item);
  return tensor;
}

Result<std::string> write_npy(const TensorView& tensor) {
  if (tensor.type == DataType::kBytes) return write_strings(tensor);
  const auto row =
      std::find_if(kNumpyTypes.begin(), kNumpyTypes.end(), [&](const NumpyType& r) { return r.type == tensor.type; });
  if (row == kNumpyTypes.end() || byte_size(tensor.type, tensor.shape) != tensor.data.size())
    return Error{Code::kInvalid, fmt::format("write an array: {} {} is not {} bytes", data_type_name(tensor.type),
                                             shape_text(tensor.shape), tensor.data.size())};
  const bool ordered = data_type_size(tensor.type) > 1 && row->descr[0] != 'V';
  std::string file = header_text(std::string(ordered ? "<" : "|") + std::string(row->descr), tensor.shape);
  file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return file;
}

Error unreadable_array(std::string_view what, const std::string& why) {
  return invalid(fmt::format("read {}: {}", what, why));
}

}  // namespace ridge
