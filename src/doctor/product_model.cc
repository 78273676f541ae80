#include "doctor/product_model.h"

#include <string_view>

namespace ridge::doctor {
namespace {

constexpr int kVarint = 0, kBytes = 2;  // wire types
constexpr int64_t kIrVersion = 8, kOpset = 17, kFloat = 1;

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>((value & 0x7F) | 0x80));
  text.push_back(static_cast<char>(value));
  return text;
}

std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field << 3 | kVarint)) + varint(static_cast<uint64_t>(value));
}

std::string bytes(int field, std::string_view content) {
  return varint(static_cast<uint64_t>(field << 3 | kBytes)) + varint(content.size()) + std::string(content);
}

// ValueInfoProto { name = 1, type = 2 { tensor_type = 1 { elem_type = 1, shape = 2 { dim = 1 { dim_value = 1 } } } } }
std::string port(std::string_view name, int64_t rows, int64_t columns) {
  std::string shape = bytes(1, number(1, rows)) + bytes(1, number(1, columns));
  return bytes(1, name) + bytes(2, bytes(1, number(1, kFloat) + bytes(2, shape)));
}

}  // namespace

std::string product_model(int64_t rows, int64_t inner, int64_t columns) {
  // NodeProto { input = 1, output = 2, name = 3, op_type = 4 }
  std::string node = bytes(1, "a") + bytes(1, "b") + bytes(2, "c") + bytes(3, "product") + bytes(4, "MatMul");
  // GraphProto { node = 1, name = 2, input = 11, output = 12 }
  std::string graph = bytes(1, node) + bytes(2, "product") + bytes(11, port("a", rows, inner)) +
                      bytes(11, port("b", inner, columns)) + bytes(12, port("c", rows, columns));
  // ModelProto { ir_version = 1, graph = 7, opset_import = 8 { domain = 1, version = 2 } }
  return number(1, kIrVersion) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, kOpset));
}

}  // namespace ridge::doctor
