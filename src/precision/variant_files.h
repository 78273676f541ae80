// Storage of variants, and the record of an existing one.
#pragma once

#include <string>

#include "base/result.h"
#include "precision/variants.h"

namespace ridge::precision {

struct VariantFiles {
  std::string model;     // FOLDER/int8-0123456789abcdef.onnx; large weights in model + ".data"
  std::string record;    // FOLDER/int8-0123456789abcdef.json
  std::string attempts;  // prefix of temporary files
};

// Named by a digest of the model, the pass and its options, the limits, the samples and this version.
Result<VariantFiles> variant_files(const VariantBasis& basis, const std::string& name, const VariantOptions& options);

// Fills in the record: report, calibration, sensitivity, kept, notes. False: missing or unreadable.
bool recall(const VariantFiles& files, Variant& variant);
Status remember(const VariantFiles& files, const Variant& variant);

}  // namespace ridge::precision
