# The training step, beside PyTorch: build/release/bin/coterie-bench-train-step; tests/bench/train_step_torch.py
coterie_program(coterie-bench-train-step
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/train_step_bench.cc
  DEPENDS coterie_model_zoo coterie_runtime coterie_train_kernels)
