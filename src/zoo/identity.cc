// identity: `x` [batch, 16] → `y`, for every tensor type of the protocol. It computes nothing, so its serving cost is
// the server's.
#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {

Blueprint identity(const ZooOptions& options) {
  const std::vector<Dimension> shape = {batch_dimension(options), int64_t{16}};
  GraphBuilder b("identity", options.opset);
  Value x = b.input("x", options.type, shape);
  b.output(b.node("identity", "Identity", {x}, {}, "y"), options.type, shape);
  return b.blueprint();
}

}  // namespace ridge::zoo
