#include "tune/budget.h"

#include <algorithm>

namespace ridge::tune {

double share_until(Part part) {
  switch (part) {
    case Part::kVariants: return 0.50;
    case Part::kSearch: return 0.76;
    case Part::kConfirm: return 0.90;
    case Part::kCurve: return 0.95;
    case Part::kEnd: break;
  }
  return 1;
}

double Budget::left(Part part) const { return std::max(0.0, to_seconds(end_of(part) - clock_.now())); }

}  // namespace ridge::tune
