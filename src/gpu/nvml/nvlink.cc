#include "gpu/nvml/nvlink.h"

namespace ridge::gpu::nvml {
namespace {

struct LinkRate {
  int from, to;  // compute capability
  double bytes_per_s;
};

constexpr LinkRate kLinkRates[] = {
    {60, 62, 20e9},       // Tesla P100 white paper: four links, 160 GB/s both ways
    {70, 72, 25e9},       // Tesla V100 white paper: six links, 300 GB/s
    {75, 75, 25e9},       // Turing white paper: two links, 100 GB/s
    {80, 80, 25e9},       // A100 white paper: twelve links, 600 GB/s
    {86, 86, 14.0625e9},  // GA102 white paper: four links, 112.5 GB/s
    {90, 90, 25e9},       // H100 white paper: eighteen links, 900 GB/s
    {100, 103, 50e9},     // Blackwell architecture brief: eighteen links, 1.8 TB/s
};

}  // namespace

double nvlink_bytes_per_s(int capability) {
  for (const LinkRate& row : kLinkRates)
    if (row.from <= capability && capability <= row.to) return row.bytes_per_s;
  return 0;
}

}  // namespace ridge::gpu::nvml
