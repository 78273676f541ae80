// The rate of one NVLink.
#pragma once

namespace ridge::gpu::nvml {

// Line rate of one link, one direction [bytes/s], by the compute capability of its GPU (80 is 8.0); 0: such GPUs have none, or
// unknown. Data sheets give both directions of all links of a GPU: A100, 12 links of 25 GB/s: 600 GB/s.
double nvlink_bytes_per_s(int capability);

}  // namespace ridge::gpu::nvml
