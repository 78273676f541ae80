// Numbers as people read them, and where they come from.
//
// Everything inside ridge is in base units (bytes, seconds or nanoseconds, FLOP, FLOP/s); these functions turn them
// into text with a unit at the edge. Decimal prefixes for rates and FLOPs, binary ones (KiB, MiB) for memory sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/name_table.h"
#include "base/result.h"

namespace ridge {

// Where a number comes from. Printed beside every figure.
enum class Origin { kMeasured, kDatasheet, kDerived, kAssumed };
NameTable<Origin> names_of(Origin);
std::string_view origin_name(Origin origin);  // "measured", …

// Arithmetic precision of a computation (what a peak is quoted for), not a storage type: the number format of its
// products and of its accumulators. FP16 and FP8 tensor cores of GeForce RTX 20 to 50 multiply twice as fast when they
// also accumulate in FP16; elsewhere both rates are equal. kFp16 and kFp8 are rates with any accumulator, kFp16Fp32
// that with FP32 accumulators, the default of ONNX Runtime, cuBLAS and PyTorch. Only peaks are quoted for kFp16Fp32 and
// kFp4: models are not computed in them.
enum class Precision { kFp64, kFp32, kTf32, kFp16, kFp16Fp32, kBf16, kFp8, kInt8, kFp4 };
NameTable<Precision> names_of(Precision);
std::string_view precision_name(Precision precision);               // "fp32", …, "fp16_fp32acc"
Result<Precision> precision_from_name(std::string_view name);       // one that models are computed in
Result<Precision> peak_precision_from_name(std::string_view name);  // any

// Three significant digits, except percentages. "-": nothing was counted, or the rate is not known (0).
std::string format_count(double value);                       // 25557032 → "25.6 M"
std::string format_flops(double flops);                       // 8.2e9 → "8.20 GFLOP"
std::string format_flops_rate(double flops_per_s);            // 1.2e11 → "120 GFLOP/s", 0 → "-"
std::string format_bytes(double bytes);                       // 102400 → "100 KiB"
std::string format_bandwidth(double bytes_per_s);             // 2.5e10 → "25.0 GB/s", 0 → "-"
std::string format_ms(double ms);                             // "38.6 ms", "412 µs", "1.24 s", "< 1 ns", 0 → "-"
std::string format_hertz(double hertz);                       // "3.71 GHz"
std::string format_percent(double percent);                   // "94.7 %", 0.0042 → "< 0.01 %"
std::string format_rate(double per_s, std::string_view of);   // 65920, "tokens" → "65.9 k tokens/s", 0 → "-"
std::string format_row_rate(double rows_per_s);               // 65920 → "65.9 k rows/s", 7.432 → "7.43 rows/s"
std::string format_energy(double joules);                     // 0.0123 → "12.3 mJ"
std::string format_usd(double usd);                           // 14.7 → "$14.70", 0.4753 → "$0.475"
std::string counted(int64_t number, std::string_view thing);  // 1, "row" → "1 row"; 3 → "3 rows"

// "64MiB", "1.5 GB", "4096" → bytes. Units: B, kB/KB, MB, GB, TB (decimal) and KiB, MiB, GiB, TiB.
Result<int64_t> parse_bytes(std::string_view text);

}  // namespace ridge
