// Numbers as people read them, and where they come from.
//
// Everything inside ridge is in base units (bytes, seconds or nanoseconds, FLOP, FLOP/s); these functions turn them into
// text with a unit at the edge. Decimal prefixes for rates and FLOPs, binary ones (KiB, MiB) for memory sizes.
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

// Arithmetic precision of a computation (what a peak is quoted for), not a storage type.
enum class Precision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
NameTable<Precision> names_of(Precision);
std::string_view precision_name(Precision precision);  // "fp32", …
Result<Precision> precision_from_name(std::string_view name);

std::string format_count(double value);             // 25557032 → "25.6 M"
std::string format_flops(double flops);             // 8.2e9 → "8.20 GFLOP"
std::string format_flops_rate(double flops_per_s);  // 1.2e11 → "120 GFLOP/s"
std::string format_bytes(double bytes);             // 102400 → "100 KiB"
std::string format_bandwidth(double bytes_per_s);   // 2.5e10 → "25.0 GB/s"
std::string format_ms(double ms);                   // "38.6 ms", "412 µs", "1.24 s": three significant digits
std::string format_hertz(double hertz);             // "3.71 GHz"
std::string format_percent(double percent);         // "94.7 %"

// "64MiB", "1.5 GB", "4096" → bytes. Units: B, kB/KB, MB, GB, TB (decimal) and KiB, MiB, GiB, TiB.
Result<int64_t> parse_bytes(std::string_view text);

}  // namespace ridge
