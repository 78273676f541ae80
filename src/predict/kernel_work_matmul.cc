// Matrix multiplications: MatMul and Gemm, alone and with fused operators.
#include "predict/kernel_work_parts.h"

namespace ridge::predict {
namespace {

constexpr int64_t kThin = 4;             // rows up to which a multiplication is bound by reading its weights
constexpr int64_t kPackedDepth = 256;    // steps between two passes over the result (MLAS_SGEMM_PACKED_STRIDEK)
constexpr int64_t kColumnsAtOnce = 128;  // MLAS_SGEMM_STRIDEN

struct MatMulSizes {
  int64_t count = 1, m = 1, n = 1, k = 1;  // `count` products [m, k] · [k, n]
  bool constant = false;                   // the right side is a weight, packed when the model is loaded
};

MatMulSizes matmul_sizes(const Kernel& kernel) {
  const Shape &x = *kernel.inputs[0].shape, &y = *kernel.outputs[0].shape;
  MatMulSizes s;
  s.constant = kernel.inputs[1].weight;
  s.n = y.back();
  s.m = y.size() > 1 ? y[y.size() - 2] : 1;
  const int64_t elements = element_count(y).value_or(0);
  s.count = s.m * s.n > 0 ? elements / (s.m * s.n) : 0;
  if (!x.empty()) s.k = attribute_or<int64_t>(kernel, "transA", 0) != 0 && x.size() > 1 ? x[x.size() - 2] : x.back();
  if (s.constant) {  // all rows together against one matrix
    s.m *= s.count;
    s.count = std::min<int64_t>(s.count, 1);
  }
  return s;
}

}  // namespace

KernelWork product_work(const Kernel& kernel, const KernelDevice& device, double footprint_bytes) {
  const MatMulSizes s = matmul_sizes(kernel);
  const double count = static_cast<double>(s.count), m = static_cast<double>(s.m), n = static_cast<double>(s.n),
               k = static_cast<double>(s.k), threads = device.threads;
  KernelWork work;
  work.kind = !s.constant ? "product.dynamic" : s.m <= kThin ? "product.thin" : "product.weights";
  work.terms.push_back({"compute", count * product_slots(s.m, s.n, s.k, device.block) * slot_us(device) / threads});
  const double right = count * k * n * 4;
  if (s.constant) {
    work.terms.push_back({"weights", us_of(right, device.far_shared_bytes_per_s)});
    work.terms.push_back({"weights from memory", us_of(right * share_beyond(footprint_bytes, device.far_capacity_bytes),
                                                       device.dram_bytes_per_s)});
  } else {
    work.terms.push_back({"pack", us_of(right, device.near_bytes_per_s) / threads});
  }
  const double visits = static_cast<double>(2 * ceiling(s.k, kPackedDepth) - 1);
  const double columns = static_cast<double>(ceiling(s.n, kColumnsAtOnce));
  work.terms.push_back({"result", us_of(count * m * n * 4 * visits, device.near_bytes_per_s) / threads});
  work.terms.push_back({"left", us_of(count * m * k * 4 * columns, device.near_bytes_per_s) / threads});
  work.terms.push_back({"left far", us_of(count * m * k * 4 * columns *
                                              share_beyond(m * k * 4, device.near_capacity_bytes * kUsableNear),
                                          device.far_bytes_per_s) /
                                        threads});
  const double live = count * (m * k + m * n) * 4;
  work.terms.push_back({"from memory", us_of(live * share_beyond(live, device.far_capacity_bytes * kUsableFar),
                                             device.dram_bytes_per_s)});
  const bool activated = kernel.attributes.contains("activation");
  work.terms.push_back({"activation", activated ? count * m * n * 1e-3 / threads : 0});
  work.terms.push_back({"products", count * 1.0 / threads});
  work.place = {log_of(m), log_of(n), log_of(k), 0.5 * log_of(count)};
  return work;
}

}  // namespace ridge::predict
