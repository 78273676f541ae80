// What one NVLink carries.
#pragma once

namespace ridge::gpu::nvml {

// One direction of one link, as the line runs [bytes/s], by the compute capability of its GPU (80 is 8.0); 0: such GPUs have none,
// or it is not known. Both directions of all links of a GPU are what data sheets give: A100, 12 links of 25 GB/s: 600 GB/s.
double nvlink_bytes_per_s(int capability);

}  // namespace ridge::gpu::nvml
