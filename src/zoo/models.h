// The reference models, each in its own file. Layer names, tensor names and parameter counts are those of the published
// implementations and their usual exports; docs/cli/make.md lists them.
#pragma once

#include "zoo/blueprint.h"
#include "zoo/zoo.h"

namespace ridge::zoo {

Blueprint resnet50(const ZooOptions& options);
Blueprint bert_base(const ZooOptions& options);
Blueprint yolov8x(const ZooOptions& options);
Blueprint sd_unet(const ZooOptions& options);
Blueprint mlp(const ZooOptions& options);
Blueprint identity(const ZooOptions& options);

}  // namespace ridge::zoo
