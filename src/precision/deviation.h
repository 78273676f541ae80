// Deviation: the distance between two sets of outputs of the same model on the same inputs. Near zero in FP32, where
// only the order of additions differs; the accuracy guard of lower precisions.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"
#include "base/result.h"
#include "base/tensor.h"

namespace ridge::precision {

struct Deviation {
  double max_abs = 0;      // largest difference of two elements
  double relative_l2 = 0;  // ‖other − reference‖ / ‖reference‖ over all elements
  double cosine = 1;       // of the angle between both as vectors
  double top1_agreement =
      1;  // share of the rows along the last axis whose largest element has the same index; not of rows with NaN
  int64_t elements = 0,
          not_finite =
              0;  // compared, and of these NaN or infinite on either side: in no figure above but top1_agreement
};
// ", 8 of 8 values are NaN or infinite"; "": all are finite.
std::string not_finite_text(const Deviation& deviation);

void visit_fields(auto& visit, Is<Deviation> auto& deviation) {
  visit("max_abs", deviation.max_abs);
  visit("relative_l2", deviation.relative_l2);
  visit("cosine", deviation.cosine);
  visit("top1_agreement", deviation.top1_agreement);
  visit.optional("elements", deviation.elements);
  visit.optional("not_finite", deviation.not_finite);
}

// Adds up pairs of tensors. Immutable inputs; one thread.
class DeviationMeter {
 public:
  // Error when shapes differ, or types that are not both floating point (an FP16 and an FP32 output are compared by
  // value). A NaN or an infinity that only one side has makes max_abs infinite.
  Status add(const TensorView& reference, const TensorView& other);
  Deviation result() const;

 private:
  double max_abs_ = 0, difference_ = 0, reference_ = 0, other_ = 0, product_ = 0;  // sums of squares and products
  int64_t rows_ = 0, agreeing_rows_ = 0, elements_ = 0, not_finite_ = 0;
};

}  // namespace ridge::precision
