// Convolutions, by MLAS's four ways for blocked channels (direct, pointwise, depthwise, and from an input in plain channels),
// and as matrix multiplications without blocking.
#include "cost/operators.h"
#include "model/domains.h"
#include "predict/kernel_work_parts.h"

namespace ridge::predict {
namespace {

constexpr int64_t kFiltersAtOnce = 4;  // blocks of filters that share a tile (FilterSetSize)
constexpr int64_t kPointwiseChannels =
    128;  // input channels between two passes over the output (MaximumInputChannelBatch)

// The sizes of a convolution over two dimensions.
struct ConvolutionSizes {
  int64_t batch = 1, group = 1;
  int64_t in = 1, out = 1;  // channels of one group
  int64_t rows = 1, columns = 1, out_rows = 1, out_columns = 1;
  int64_t kernel_rows = 1, kernel_columns = 1;
  int64_t stride_rows = 1, stride_columns = 1;
  int64_t valid_rows = 1;     // pairs of output row and kernel row inside the image
  int64_t inner_columns = 1;  // outputs of a row with their window inside
  int64_t edge_columns = 0;   // the others
  bool padded = false;
};

int64_t valid_pairs(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
  int64_t pairs = 0;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    const int64_t offset = tap * dilation - pad;  // of the input index: 0 ≤ o · stride + offset < input
    const int64_t first = offset >= 0 ? 0 : ceiling(-offset, stride);
    const int64_t last = input - 1 - offset < 0 ? -1 : std::min(output - 1, (input - 1 - offset) / stride);
    pairs += std::max<int64_t>(0, last - first + 1);
  }
  return pairs;
}

int64_t entry(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

ConvolutionSizes convolution_sizes(const Kernel& kernel) {
  const Shape &x = *kernel.inputs[0].shape, &w = *kernel.inputs[1].shape, &y = *kernel.outputs[0].shape;
  const Shape strides = attribute_or(kernel, "strides", Shape()), pads = attribute_or(kernel, "pads", Shape());
  const Shape dilations = attribute_or(kernel, "dilations", Shape());
  ConvolutionSizes s;
  s.group = std::max<int64_t>(1, attribute_or<int64_t>(kernel, "group", 1));
  s.batch = y[0];
  s.in = w[1];
  s.out = std::max<int64_t>(1, w[0] / s.group);
  s.rows = x[2], s.columns = x[3], s.out_rows = y[2], s.out_columns = y[3];
  s.kernel_rows = w[2], s.kernel_columns = w[3];
  s.stride_rows = entry(strides, 0, 1), s.stride_columns = entry(strides, 1, 1);
  const int64_t dilation_rows = entry(dilations, 0, 1), dilation_columns = entry(dilations, 1, 1);
  // Without explicit padding (auto_pad): the padding implied by the output's size.
  auto padding = [](int64_t in, int64_t out, int64_t k, int64_t stride, int64_t dilation) {
    return std::max<int64_t>(0, (out - 1) * stride + dilation * (k - 1) + 1 - in) / 2;
  };
  const int64_t top = pads.empty() ? padding(s.rows, s.out_rows, s.kernel_rows, s.stride_rows, dilation_rows) : pads[0];
  const int64_t left = pads.empty()
                           ? padding(s.columns, s.out_columns, s.kernel_columns, s.stride_columns, dilation_columns)
                           : entry(pads, 1, 0);
  s.padded = top > 0 || left > 0 || std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
  s.valid_rows = valid_pairs(s.rows, s.out_rows, s.kernel_rows, s.stride_rows, dilation_rows, top);
  const int64_t span = dilation_columns * (s.kernel_columns - 1) + 1;
  const int64_t inside = s.columns >= span ? (s.columns - span) / s.stride_columns + 1 : 0;
  const int64_t until_right = s.columns + left >= span ? (s.columns + left - span) / s.stride_columns + 1 : inside;
  const bool hidden_edge = left > 0 && until_right == inside;  // the first output still begins left of the image
  s.inner_columns = std::clamp<int64_t>(hidden_edge ? inside - 1 : inside, 0, s.out_columns);
  s.edge_columns = s.out_columns - s.inner_columns;
  return s;
}

// Relu and Clip run while a tile is in registers; others pass over the output again.
double activation_us(const Kernel& kernel, const KernelDevice& device) {
  const std::string name = attribute_or(kernel, "activation", std::string());
  if (name.empty() || cost::operator_of("", name).is(cost::Trait::kClips)) return 0;
  return operand_elements(kernel.outputs[0]) * 1e-3 / device.threads;
}

void add_operands(const Kernel& kernel, const KernelDevice& device, double footprint_bytes, KernelWork& work) {
  const double weights = operand_bytes(kernel.inputs[1]);
  const double live = operand_bytes(kernel.inputs[0]) + operand_bytes(kernel.outputs[0]);
  work.terms.push_back({"weights", us_of(weights, device.far_shared_bytes_per_s)});
  work.terms.push_back({"weights from memory", us_of(weights * share_beyond(footprint_bytes, device.far_capacity_bytes),
                                                     device.dram_bytes_per_s)});
  work.terms.push_back({"images from memory", us_of(live * share_beyond(live, device.far_capacity_bytes * kUsableFar),
                                                    device.dram_bytes_per_s)});
  if (kernel.inputs.size() > 3 && kernel.inputs[3].present)
    work.terms.push_back({"sum", us_of(operand_bytes(kernel.outputs[0]), device.far_shared_bytes_per_s)});
  work.terms.push_back({"activation", activation_us(kernel, device)});
}

void place(const ConvolutionSizes& s, KernelWork& work) {
  work.place = {log_of(static_cast<double>(s.in)),
                log_of(static_cast<double>(s.out)),
                log_of(static_cast<double>(s.out_rows * s.out_columns)),
                log_of(static_cast<double>(s.kernel_rows * s.kernel_columns)) * 0.7,
                log_of(static_cast<double>(s.stride_rows * s.stride_columns)),
                0.5 * log_of(static_cast<double>(s.batch))};
}

void depthwise(const Kernel& kernel, const ConvolutionSizes& s, const KernelDevice& device, KernelWork& work) {
  work.kind = s.kernel_rows * s.kernel_columns == 1 ? "conv.scale" : "conv.depthwise";
  const int64_t lines = s.batch * ceiling(s.group, device.block) * s.out_rows;
  const double share = busiest_share(lines, device.threads);
  const double taps = static_cast<double>(s.batch * ceiling(s.group, device.block) * s.valid_rows * s.kernel_columns);
  const double moved = operand_bytes(kernel.inputs[0]) + operand_bytes(kernel.outputs[0]);
  work.terms.push_back({"compute", taps * static_cast<double>(s.out_columns) * 2 * slot_us(device) * share});
  work.terms.push_back({"lines", static_cast<double>(lines) * share * 0.01});
  work.terms.push_back({"near", us_of(moved, device.near_bytes_per_s) * share});
  work.terms.push_back({"far", us_of(moved * share_beyond(moved, device.near_capacity_bytes * kUsableNear),
                                     device.far_shared_bytes_per_s)});
}

// Slots of a set of filters over the whole image.
struct SetSlots {
  double inner = 0, edge = 0;
};
SetSlots set_slots(const ConvolutionSizes& s, bool pointwise, double filters, const KernelDevice& device) {
  const int64_t tile = device.block >= 16 ? 6 : 3;  // mlas/lib/x86_64: SconvKernelAvx512F.S, SconvKernelFma3.S
  const double in = static_cast<double>(s.in);
  if (!pointwise) {
    const double steps = in * static_cast<double>(s.kernel_columns * s.valid_rows);
    return {line_slots(filters, s.inner_columns, tile) * steps,
            static_cast<double>(s.edge_columns) * tile_slots(filters, 1) * steps};
  }
  if (s.stride_rows == 1 && s.stride_columns == 1) {
    const int64_t parts = std::min<int64_t>(device.threads, s.out_rows);
    return {static_cast<double>(parts) * line_slots(filters, ceiling(s.out_rows, parts) * s.out_columns, tile) * in, 0};
  }
  return {static_cast<double>(s.out_rows) * line_slots(filters, s.out_columns, tile) * in, 0};
}

void blocked(const ConvolutionSizes& s, const KernelDevice& device, KernelWork& work) {
  const bool plain_input = s.in < device.block;
  const bool pointwise = !plain_input && s.kernel_rows * s.kernel_columns == 1 && !s.padded;
  work.kind = plain_input ? "conv.plain_input" : pointwise ? "conv.pointwise" : "conv.direct";
  const int64_t blocks = ceiling(s.out, device.block), sets = ceiling(blocks, kFiltersAtOnce);
  const SetSlots whole = set_slots(s, pointwise, kFiltersAtOnce, device);
  const SetSlots last = set_slots(s, pointwise, static_cast<double>(blocks - kFiltersAtOnce * (sets - 1)), device);
  const double images = static_cast<double>(s.batch * s.group);
  const double share = busiest_share(s.batch * s.group * sets * s.out_rows, device.threads);
  const double scale = images * slot_us(device) * share;
  work.terms.push_back({"compute", (whole.inner * static_cast<double>(sets - 1) + last.inner) * scale});
  work.terms.push_back({"edges", (whole.edge * static_cast<double>(sets - 1) + last.edge) * scale});
  // The output is visited once per batch of input channels: written, and from the second time on also read.
  const int64_t visits = plain_input ? s.in : ceiling(s.in, pointwise ? kPointwiseChannels : device.block);
  const double lines = images * static_cast<double>(sets * s.out_rows * visits) * share;
  work.terms.push_back({"lines", lines * 0.02});
  const double plane = static_cast<double>(s.out_rows * s.out_columns) * 4;
  const double traffic = images * static_cast<double>(blocks * device.block * (2 * visits - 1)) * plane * share;
  const double sweep = static_cast<double>(std::min(kFiltersAtOnce * device.block, blocks * device.block)) * plane;
  work.terms.push_back({"output near", us_of(traffic, device.near_bytes_per_s)});
  work.terms.push_back({"output far", us_of(traffic * share_beyond(sweep, device.near_capacity_bytes * kUsableNear),
                                            device.far_bytes_per_s)});
  if (!pointwise && !plain_input)
    work.terms.push_back(
        {"output from memory",
         us_of(traffic * share_beyond(sweep, device.far_capacity_bytes * kUsableNear), device.dram_bytes_per_s)});
  const double image = static_cast<double>(s.rows * s.columns) * 4;
  const double input = images * static_cast<double>(sets * s.in) * image * share;
  const double reused = (pointwise ? static_cast<double>(s.in) : static_cast<double>(device.block)) * image;
  work.terms.push_back({"input far", us_of(input * share_beyond(reused, device.near_capacity_bytes * kUsableNear),
                                           device.far_bytes_per_s)});
}

// Per group a multiplication of the filters [out, in · taps] with the unfolded image [in · taps, positions].
void as_product(const ConvolutionSizes& s, const KernelDevice& device, KernelWork& work) {
  const int64_t taps = s.kernel_rows * s.kernel_columns;
  const double images = static_cast<double>(s.batch * s.group);
  const int64_t positions = s.out_rows * s.out_columns;
  const double unfolded = images * static_cast<double>(s.in * taps * positions) * 4;
  work.kind = s.in == 1 && s.out == 1 ? "conv.product_depthwise" : "conv.product";
  work.terms.push_back({"compute", images * product_slots(s.out, positions, s.in * taps, device.block) *
                                       slot_us(device) / device.threads});
  work.terms.push_back({"pack", us_of(unfolded, device.near_bytes_per_s) / device.threads});
  const bool in_place = taps == 1 && s.stride_rows == 1 && s.stride_columns == 1 && !s.padded;
  work.terms.push_back({"unfold", in_place ? 0 : us_of(unfolded, device.near_bytes_per_s) / device.threads});
  work.terms.push_back({"groups", images * 1.0 / device.threads});
}

}  // namespace

KernelWork convolution_work(const Kernel& kernel, const KernelDevice& device, double footprint_bytes) {
  const ConvolutionSizes s = convolution_sizes(kernel);
  KernelWork work;
  if (kernel.domain != model::kBlocked)
    as_product(s, device, work);
  else if (s.in == 1 && s.group > 1)
    depthwise(kernel, s, device, work);
  else
    blocked(s, device, work);
  add_operands(kernel, device, footprint_bytes, work);
  place(s, work);
  return work;
}

}  // namespace ridge::predict
