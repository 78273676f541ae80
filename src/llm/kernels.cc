#include "llm/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::llm {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kElementwiseEfficiency = 0.8;  // of the bandwidth
// Latent decode attention against mla.csv of the same measurements, four data-centre GPUs: share of the bandwidth and
// of the 16-bit peak.
constexpr double kLatentMemoryEfficiency = 0.77, kLatentComputeEfficiency = 0.62;
// A linear layer's state: moves like elementwise data; its chunked form computes at a third of the peak (assumed).
constexpr double kLinearComputeEfficiency = 0.33;

double smooth_maximum(double x, double y, double q) {
  const double larger = std::max(x, y), ratio = larger > 0 ? std::min(x, y) / larger : 0;
  return larger * std::pow(1 + std::pow(ratio, q), 1 / q);
}

KernelTime time_of(const Gpu& gpu, double seconds, double flops, double rate, double bytes, const KernelLaw* law) {
  KernelTime t;
  const double compute = rate > 0 ? flops / rate : 0, memory = bytes / gpu.bytes_per_s;
  t.bound_seconds = std::max(compute, memory);
  t.compute_bound = compute > memory;
  t.seconds = std::max(seconds, t.bound_seconds);
  if (law != nullptr) {
    t.error_percent = law->median_error_percent;
    t.own = law->own;
  }
  return t;
}

// Share of the multiprocessors' tiles that is filled. One row is a product of vectors, which pads nothing. `divides_k`:
// few tiles are divided along k, and some have 16 rows, as cuBLAS' split-K and llama.cpp's kernels do; laws of a GPU's
// own were fitted without.
double filled_tiles(double m, double n, double multiprocessors, double small_tile_factor, bool divides_k) {
  if (m <= 1) return 1;
  constexpr std::array<std::pair<double, double>, 5> kTiles = {
      {{64, 128}, {128, 128}, {128, 256}, {256, 128}, {16, 128}}};
  double best = 0;
  for (size_t i = 0; i < kTiles.size() - (divides_k ? 0 : 1); ++i) {
    const auto& [rows, columns] = kTiles[i];
    const double area = rows * columns, tiles = std::ceil(m / rows) * std::ceil(n / columns);
    const double small = area >= 1 << 15   ? 1
                         : area >= 1 << 14 ? small_tile_factor
                                           : small_tile_factor * small_tile_factor;
    const double waves =
        divides_k && tiles < multiprocessors ? tiles / multiprocessors : std::ceil(tiles / multiprocessors);
    best = std::max(best, m * n / (waves * multiprocessors * area) * small);
  }
  return best;
}

// The arithmetic that computes a format, and its law.
struct Way {
  double rate = 0;
  double activation_bytes = 2;
  const KernelLaw* law = nullptr;
};
Way way_of(const Gpu& gpu, WeightFormat format, std::string_view kernel) {
  static const KernelLaw kNone;
  const FormatFacts& facts = facts_of(format);
  const bool computes = gpu.computes(format) && !(format == WeightFormat::kMxfp4 && gpu.rate(Precision::kFp8) <= 0);
  Way way;
  way.rate = gpu.rate(computes ? facts.arithmetic : Precision::kBf16);
  // MXFP4 weights are multiplied with MXFP8 activations at the rate of FP8.
  if (computes && format == WeightFormat::kMxfp4) way.rate = gpu.rate(Precision::kFp8);
  way.activation_bytes = computes ? facts.activation_bits / 8 : 2;
  const std::string_view dtype = computes ? facts.law : facts.law_expanded;
  way.law = law_of(gpu, kernel, dtype);
  // An engine without measured kernels for the dtype is taken to have another's.
  for (const char* other : {"moe_vllm", "moe_trtllm", "moe_sglang"})
    if (way.law == nullptr && kernel.starts_with("moe")) way.law = law_of(gpu, other, dtype);
  if (way.law == nullptr) way.law = law_of(gpu, kernel, "bfloat16");
  if (way.law == nullptr) way.law = &kNone;
  return way;
}

double cache_bytes_of(const DecodeWork& w, double cached) {
  return 2 * w.kv_heads * w.attention.head_dim * cached * w.cache_bits / 8;
}

KernelTime gemm_by_law(const Gpu& gpu, WeightFormat format, double m, double n, double k) {
  const Way way = way_of(gpu, format, "gemm");
  const KernelLaw& law = *way.law;
  const double flops = 2 * m * n * k;
  const double bytes = n * k * bits_of(format) / 8 + m * k * way.activation_bytes + 2 * m * n;
  const double filled = filled_tiles(m, n, gpu.multiprocessors, law.small_tile_factor, !law.own);
  const double compute = flops / (way.rate * law.compute_efficiency * filled) * (1 + law.k_ramp / k);
  const double memory = bytes / (gpu.bytes_per_s * law.memory_efficiency) + law.extra_us * kMicro;
  return time_of(gpu, gpu.start_share * law.t0_us * kMicro + smooth_maximum(compute, memory, law.norm), flops, way.rate,
                 bytes, &law);
}

}  // namespace

KernelTime gemm(const Gpu& gpu, WeightFormat format, double m, double n, double k) {
  // A kernel does no more with a scale per tensor than per block; measured libraries for it were not the best.
  if (format == WeightFormat::kFp8 && gpu.computes(format)) {
    const KernelTime block = gemm(gpu, WeightFormat::kFp8Block, m, n, k), tensor = gemm_by_law(gpu, format, m, n, k);
    return block.seconds < tensor.seconds ? block : tensor;
  }
  return gemm_by_law(gpu, format, m, n, k);
}

KernelTime experts(const Gpu& gpu, WeightFormat format, const ExpertWork& w, std::string_view engine) {
  const Way way = way_of(gpu, format, "moe_" + std::string(engine));
  const KernelLaw& law = *way.law;
  const double matrices = w.gated ? 3 : 2;
  const double touched = touched_experts(w.experts, w.per_token, w.tokens) / w.expert_parallel;
  const double rows = w.tokens * w.per_token / w.expert_parallel, width = w.intermediate / w.tensor_parallel;
  const double each = rows / touched, tiles_of_rows = std::ceil(each / law.tile_rows);
  const double padded = each >= law.tile_rows ? tiles_of_rows * law.tile_rows : each;
  const double flops = 2 * matrices * w.hidden * width * rows;
  const double weights = touched * matrices * w.hidden * width * bits_of(format) / 8;
  // The law counts activations in whole bytes: one where they are quantised.
  const double activation = way.activation_bytes >= 2 ? 2 : 1;
  const double bytes = weights + rows * (2 * w.hidden + matrices * width) * activation + rows * w.hidden * 2;
  const double tiles = touched * tiles_of_rows * std::ceil((matrices - 1) * width / 128);
  const double filled = std::max(0.05, tiles / (std::ceil(tiles / gpu.multiprocessors) * gpu.multiprocessors));
  const double skew = w.expert_parallel > 1 ? 1 + law.ep_skew : 1;
  const double compute =
      2 * matrices * w.hidden * width * padded * touched * skew / (way.rate * law.compute_efficiency * filled);
  const double memory = bytes / (gpu.bytes_per_s * law.memory_efficiency);
  const double ep_us = w.expert_parallel > 1 ? law.ep_us : 0;
  const double seconds = (gpu.start_share * (law.t0_us + ep_us) + law.us_per_100_experts * touched / 100) * kMicro +
                         smooth_maximum(compute, memory, law.norm);
  return time_of(gpu, seconds, flops, way.rate, weights, &law);
}

KernelTime decode_attention(const Gpu& gpu, const DecodeWork& w) {
  const Attention& a = w.attention;
  const KernelLaw& l = gpu.decode;
  const double rate = gpu.rate(Precision::kBf16);
  double bytes = 0, flops = 0, efficiency = l.memory_efficiency, compute_efficiency = kLatentComputeEfficiency;
  switch (a.kind) {
    case AttentionKind::kFull: bytes = cache_bytes_of(w, w.cached); break;
    case AttentionKind::kWindow:
      bytes = cache_bytes_of(w, std::min(w.cached, w.sequences * static_cast<double>(a.window)));
      break;
    case AttentionKind::kLatent: {
      const double row = static_cast<double>(a.latent_rank + a.rope_dim), rank = static_cast<double>(a.latent_rank);
      const double top = static_cast<double>(a.index_top);
      const double read = a.index_top > 0 ? std::min(w.cached, w.sequences * top) : w.cached;
      bytes = read * row * w.cache_bits / 8 + w.cached * static_cast<double>(a.index_dim) * 8.25 / 8;
      flops = 2 * w.heads * (row + rank) * read * w.new_tokens +
              2 * static_cast<double>(a.index_heads * a.index_dim) * w.cached * w.new_tokens;
      efficiency = kLatentMemoryEfficiency;
      break;
    }
    case AttentionKind::kLinear:  // the state is read and written
      bytes = w.sequences * 2 * w.heads * static_cast<double>(a.head_dim * a.value_dim) * 4;
      efficiency = kElementwiseEfficiency;
      break;
  }
  const double memory = bytes / (gpu.bytes_per_s * efficiency);
  const double compute = flops / (rate * compute_efficiency);
  const double ramp = l.ramp_us * kMicro * std::min(1.0, std::sqrt(bytes / gpu.multiprocessors / 65536));
  return time_of(gpu, gpu.start_share * l.t0_us * kMicro + std::max(memory, compute) + ramp, flops, rate, bytes, &l);
}

KernelTime prefill_attention(const Gpu& gpu, const PrefillWork& w) {
  const Attention& a = w.attention;
  const KernelLaw& l = gpu.prefill;
  const double rate = gpu.rate(Precision::kBf16), key = static_cast<double>(a.head_dim);
  const double value = static_cast<double>(a.value_dim);
  if (a.kind == AttentionKind::kLinear) {
    // Chunks of 64 tokens: about 5 products of key by value per token and head.
    const double flops = 2 * 5 * w.heads * key * value * w.tokens;
    const double bytes = w.tokens * w.heads * (2 * key + 2 * value) * 2;
    const double seconds = gpu.start_share * l.t0_us * kMicro + flops / (rate * kLinearComputeEfficiency) +
                           bytes / (kElementwiseEfficiency * gpu.bytes_per_s);
    return time_of(gpu, seconds, 0, rate, bytes, nullptr);
  }
  double seen = w.cached + w.tokens / 2;  // tokens that a new one attends to, on average
  if (a.kind == AttentionKind::kWindow) seen = std::min(seen, static_cast<double>(a.window));
  double index_flops = 0;
  if (a.index_top > 0) {
    index_flops = 2 * static_cast<double>(a.index_heads * a.index_dim) * w.tokens * seen;
    seen = std::min(seen, static_cast<double>(a.index_top));
  }
  const double flops = 2 * w.heads * (key + value) * w.tokens * seen + index_flops;
  const double kv_heads = a.kind == AttentionKind::kLatent ? w.heads : w.kv_heads;
  const double bytes = 2 * (w.tokens * w.heads + (w.tokens + w.cached) * kv_heads) * (key + value);
  const double seconds = gpu.start_share * l.t0_us * kMicro +
                         flops * (1 + l.length_ramp / std::max(1.0, w.tokens)) / (rate * l.compute_efficiency) +
                         0.5 * bytes / (kElementwiseEfficiency * gpu.bytes_per_s);
  return time_of(gpu, seconds, flops, rate, 0, &l);
}

KernelTime all_reduce(const Gpu& gpu, double gpus, double bytes) {
  KernelTime t;
  if (gpus <= 1) return t;
  if (gpus > gpu.link_gpus) {
    // Within the nodes, and between them: NCCL's collectives over a network begin with some 40 µs (assumed).
    const double nodes = std::ceil(gpus / gpu.link_gpus);
    t = all_reduce(gpu, gpu.link_gpus, bytes);
    const double moved = 2 * (nodes - 1) / nodes * bytes / gpu.link_gpus;
    t.bound_seconds += moved / kNetworkBytesPerSecond;
    t.seconds += 40e-6 + moved / kNetworkBytesPerSecond;
    return t;
  }
  const double moved = 2 * (gpus - 1) / gpus * bytes;
  // Fitted to engines' and NCCL's all-reduces, 2 KB to 1 GB: A100, H100, H200, B200 (NVLink), RTX PRO 6000 (PCIe).
  const double start_us = gpu.has_nvlink ? 5 : 20, ramp_us = gpu.has_nvlink ? 12 : 40,
               share = gpu.has_nvlink ? 0.85 : 0.55;
  t.bound_seconds = moved / gpu.link_bytes_per_s;
  t.seconds = (gpu.start_share * start_us + ramp_us * (1 - std::exp(-bytes / 1e6))) * kMicro + t.bound_seconds / share;
  return t;
}

KernelTime elementwise(const Gpu& gpu, double bytes) {
  KernelTime t;
  t.bound_seconds = bytes / gpu.bytes_per_s;
  t.seconds = t.bound_seconds / kElementwiseEfficiency;
  return t;
}

}  // namespace ridge::llm
