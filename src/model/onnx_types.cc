#include "model/onnx_types.h"

#include <onnx/onnx_pb.h>

#include <array>

namespace ridge::model {
namespace {

using Proto = onnx::TensorProto;

struct TypeRow {
  int32_t onnx_type;
  DataType type;
  int bits;
  bool weight;
};

// onnx.proto, TensorProto.DataType; sizes from its comments.
constexpr std::array<TypeRow, 27> kTypeRows = {{
    {Proto::FLOAT, DataType::kFp32, 32, true},
    {Proto::UINT8, DataType::kUint8, 8, true},
    {Proto::INT8, DataType::kInt8, 8, true},
    {Proto::UINT16, DataType::kUint16, 16, false},
    {Proto::INT16, DataType::kInt16, 16, false},
    {Proto::INT32, DataType::kInt32, 32, false},
    {Proto::INT64, DataType::kInt64, 64, false},
    {Proto::STRING, DataType::kBytes, 0, false},
    {Proto::BOOL, DataType::kBool, 8, false},
    {Proto::FLOAT16, DataType::kFp16, 16, true},
    {Proto::DOUBLE, DataType::kFp64, 64, true},
    {Proto::UINT32, DataType::kUint32, 32, false},
    {Proto::UINT64, DataType::kUint64, 64, false},
    {Proto::COMPLEX64, DataType::kInvalid, 64, true},
    {Proto::COMPLEX128, DataType::kInvalid, 128, true},
    {Proto::BFLOAT16, DataType::kBf16, 16, true},
    {Proto::FLOAT8E4M3FN, DataType::kInvalid, 8, true},
    {Proto::FLOAT8E4M3FNUZ, DataType::kInvalid, 8, true},
    {Proto::FLOAT8E5M2, DataType::kInvalid, 8, true},
    {Proto::FLOAT8E5M2FNUZ, DataType::kInvalid, 8, true},
    {Proto::FLOAT8E8M0, DataType::kInvalid, 8, true},
    {Proto::UINT4, DataType::kInvalid, 4, true},
    {Proto::INT4, DataType::kInvalid, 4, true},
    {Proto::FLOAT4E2M1, DataType::kInvalid, 4, true},
    {Proto::UINT2, DataType::kInvalid, 2, true},
    {Proto::INT2, DataType::kInvalid, 2, true},
    {Proto::UNDEFINED, DataType::kInvalid, 0, false},
}};

const TypeRow& row_of(int32_t onnx_type) {
  for (const TypeRow& row : kTypeRows)
    if (row.onnx_type == onnx_type) return row;
  return kTypeRows.back();
}

}  // namespace

DataType from_onnx_type(int32_t onnx_type) { return row_of(onnx_type).type; }

int32_t to_onnx_type(DataType type) {
  for (const TypeRow& row : kTypeRows)
    if (row.type == type) return type == DataType::kInvalid ? Proto::UNDEFINED : row.onnx_type;
  return Proto::UNDEFINED;
}

int onnx_type_bits(int32_t onnx_type) { return row_of(onnx_type).bits; }

bool is_weight_type(int32_t onnx_type) { return row_of(onnx_type).weight; }

std::optional<int64_t> onnx_byte_size(int32_t onnx_type, int64_t count) {
  const int bits = onnx_type_bits(onnx_type);
  int64_t total_bits = 0;
  if (bits == 0 || count < 0 || __builtin_mul_overflow(count, bits, &total_bits)) return std::nullopt;
  return total_bits / 8 + (total_bits % 8 != 0);
}

}  // namespace ridge::model
