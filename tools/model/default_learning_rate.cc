#include "tools/model/default_learning_rate.h"

namespace coterie {

float default_learning_rate(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return 0.1f;
    case OptimizerKind::adagrad:
    case OptimizerKind::rmsprop: return 0.01f;
    case OptimizerKind::shampoo: return 0.05f;
    case OptimizerKind::adadelta: return 1;
    case OptimizerKind::lion: return 1e-4f;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
    case OptimizerKind::lamb:
    case OptimizerKind::muon: break;
  }
  return 1e-3f;
}

}  // namespace coterie
