#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "model/domains.h"
#include "model/guarded.h"
#include "precision/affine.h"
#include "precision/attributes.h"
#include "precision/matmuls.h"
#include "precision/opset.h"
#include "precision/pass_model.h"
#include "precision/quantise.h"
#include "precision/sites.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

constexpr int64_t kBlockOpset = 21;  // of DequantizeLinear with blocks, and of INT4

Status check_options(int bits, int64_t block_size) {
  if (bits != 4 && bits != 8)
    return Error{Code::kInvalid, fmt::format("weights of {} bits are not supported; use 4 or 8", bits)};
  if (block_size < 16 || block_size > 256 || (block_size & (block_size - 1)) != 0)
    return Error{Code::kInvalid,
                 fmt::format("blocks of {} values are not supported; use 16, 32, 64, 128 or 256", block_size)};
  return {};
}

class WeightPass {
 public:
  WeightPass(PassModel& model, int bits, int64_t block_size, const QuantiseOptions& options)
      : model_(model), bits_(bits), block_size_(block_size), options_(options) {}

  Result<PassReport> run() {
    const MatMulPass pass{is_unscaled, [this](const Site& site, PassReport& notes) { return replace(site, notes); }};
    RIDGE_ASSIGN(PassReport report, quantise_matmuls(model_, options_, pass));
    model_.remove_nodes(replaced_);
    if (options_.weight_nodes == WeightNodes::kMatMulNBits) model_.import(std::string(model::kMicrosoft), 1);
    return report;
  }

 private:
  struct Constants {
    std::string values;
    std::string scales;
    std::string zero_points;
    int64_t rows = 0;
    int64_t columns = 0;
    bool usable = true;
  };

  static bool is_unscaled(const onnx::NodeProto& node) {
    return is_matrix_product(node) && float_attribute(node, "alpha", 1) == 1 && float_attribute(node, "beta", 1) == 1;
  }

  Result<Constants> constants_of(const Site& site) {
    const auto key = std::make_pair(site.weight, site.weight_axis);
    if (auto known = constants_.find(key); known != constants_.end()) return known->second;
    RIDGE_ASSIGN(const WeightMatrix matrix, weight_matrix(model_, site));
    Constants made;
    made.rows = matrix.rows;
    made.columns = matrix.columns;
    made.usable = matrix.rows > 0 && matrix.columns > 0 && all_finite(matrix.values);
    if (made.usable) {
      const BlockWeights blocks = quantise_blocks(matrix.values, matrix.rows, matrix.columns, bits_, block_size_);
      options_.weight_nodes == WeightNodes::kMatMulNBits ? add_packed(site.weight, blocks, made)
                                                         : add_matrix(site.weight, blocks, made);
    }
    return constants_[key] = made;
  }

  // B [N, blocks, bytes of a block], the first of two nibbles in the low bits; scales [N, blocks]. No zero points: the
  // middle. Source: ONNX Runtime, docs/ContribOperators.md, com.microsoft.MatMulNBits.
  void add_packed(const std::string& weight, const BlockWeights& blocks, Constants& made) {
    const int64_t block_bytes = block_size_ * bits_ / 8;
    std::string bytes(static_cast<size_t>(made.columns * blocks.blocks * block_bytes), '\0');
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] =
          static_cast<char>(bits_ == 8 ? blocks.values[i] : blocks.values[2 * i] | (blocks.values[2 * i + 1] << 4));
    made.values = model_.add_constant(weight + "_quantized", onnx::TensorProto::UINT8,
                                      {made.columns, blocks.blocks, block_bytes}, std::move(bytes));
    made.scales = model_.add_constant(weight + "_scale", onnx::TensorProto::FLOAT, {made.columns, blocks.blocks},
                                      bytes_of(blocks.scales));
  }

  // A matrix [rows, columns] of UINT4 or UINT8, scales and zero points [blocks, columns].
  void add_matrix(const std::string& weight, const BlockWeights& blocks, Constants& made) {
    std::vector<uint8_t> values(static_cast<size_t>(made.rows * made.columns));
    std::vector<float> scales(static_cast<size_t>(blocks.blocks * made.columns));
    for (int64_t column = 0; column < made.columns; ++column) {
      for (int64_t row = 0; row < made.rows; ++row)
        values[static_cast<size_t>(row * made.columns + column)] =
            blocks.values[static_cast<size_t>(column * blocks.blocks * block_size_ + row)];
      for (int64_t block = 0; block < blocks.blocks; ++block)
        scales[static_cast<size_t>(block * made.columns + column)] =
            blocks.scales[static_cast<size_t>(column * blocks.blocks + block)];
    }
    const std::vector<uint8_t> middle(scales.size(), static_cast<uint8_t>(1 << (bits_ - 1)));
    const int32_t type = bits_ == 8 ? onnx::TensorProto::UINT8 : onnx::TensorProto::UINT4;
    made.values = model_.add_constant(weight + "_quantized", type, {made.rows, made.columns}, packed(values));
    made.scales = model_.add_constant(weight + "_scale", onnx::TensorProto::FLOAT, {blocks.blocks, made.columns},
                                      bytes_of(scales));
    made.zero_points = model_.add_constant(weight + "_zero_point", type, {blocks.blocks, made.columns}, packed(middle));
  }

  // Two nibbles to a byte, the first in the low bits (onnx.proto, TensorProto.raw_data).
  std::string packed(const std::vector<uint8_t>& values) const {
    if (bits_ == 8) return bytes_of(values);
    std::string bytes((values.size() + 1) / 2, '\0');
    for (size_t i = 0; i < values.size(); ++i)
      bytes[i / 2] = static_cast<char>(static_cast<uint8_t>(bytes[i / 2]) | values[i] << (i % 2 == 0 ? 0 : 4));
    return bytes;
  }

  Result<bool> replace(const Site& site, PassReport& report) {
    RIDGE_ASSIGN(const Constants constants, constants_of(site));
    if (!constants.usable) {
      report.notes.push_back(fmt::format("{} stays in floating point: its weights are empty or not all finite.",
                                         model_.node(site.node).name()));
      return false;
    }
    if (options_.weight_nodes == WeightNodes::kMatMulNBits) {
      use_matmul_nbits(site, constants);
    } else {
      use_dequantised(site, constants);
    }
    return true;
  }

  void use_matmul_nbits(const Site& site, const Constants& constants) {
    const onnx::NodeProto original = model_.node(site.node);
    const std::string product =
        site.bias.empty() ? original.output(0) : model_.unused_name(original.output(0) + "_product");
    onnx::NodeProto& node = model_.add_node("MatMulNBits", original.name(),
                                            {original.input(0), constants.values, constants.scales}, product);
    node.set_domain(std::string(model::kMicrosoft));
    set_integer(node, "K", constants.rows);
    set_integer(node, "N", constants.columns);
    set_integer(node, "bits", bits_);
    set_integer(node, "block_size", block_size_);
    node.set_name(original.name());
    if (!site.bias.empty())
      model_.add_node("Add", original.output(0) + "_Add", {product, site.bias}, original.output(0));
    replaced_.insert(site.node);
  }

  void use_dequantised(const Site& site, const Constants& constants) {
    auto [entry, is_new] = dequantised_.try_emplace(constants.values);
    if (is_new) {
      entry->second = model_.unused_name(site.weight + "_dequantized");
      onnx::NodeProto& dequantise =
          model_.add_node("DequantizeLinear", site.weight + "_DequantizeLinear",
                          {constants.values, constants.scales, constants.zero_points}, entry->second);
      set_integer(dequantise, "axis", 0);
      set_integer(dequantise, "block_size", block_size_);
    }
    onnx::NodeProto& node = model_.node(site.node);
    node.set_input(1, entry->second);
    if (node.op_type() == "Gemm") set_integer(node, "transB", 0);
  }

  PassModel& model_;
  int bits_;
  int64_t block_size_;
  const QuantiseOptions& options_;
  std::map<std::pair<std::string, int>, Constants> constants_;
  std::map<std::string, std::string> dequantised_;  // by quantised weight
  std::set<int> replaced_;
};

Result<PassReport> quantised(const model::WholeModel& whole, int bits, int64_t block_size,
                             const QuantiseOptions& options, const std::string& out_file) {
  RIDGE_TRY(check_options(bits, block_size));
  const int64_t opset = options.weight_nodes == WeightNodes::kDequantize ? kBlockOpset : 0;
  RIDGE_ASSIGN(PassModel model, PassModel::open(whole, opset));
  RIDGE_ASSIGN(PassReport report, WeightPass(model, bits, block_size, options).run());
  if (opset > 0) model.proto().set_ir_version(std::max(model.proto().ir_version(), ir_version_of(model.opset())));
  RIDGE_ASSIGN(report.bytes, model.write(out_file));
  report.file = out_file;
  return report;
}

}  // namespace

Result<PassReport> quantise_weights(const model::WholeModel& whole, int bits, int64_t block_size,
                                    const QuantiseOptions& options, const std::string& out_file) {
  return model::guarded("quantise the weights of " + whole.path,
                        [&] { return quantised(whole, bits, block_size, options, out_file); });
}

}  // namespace ridge::precision
