// The elements of inputs by vectors of kBytes of them, before vector_kernels_inl.h in the same namespace, which has
// defined before
//
//   store_elements(to, bytes, move)    kBytes of them moved, as elements

constexpr size_t kMoved = kBytes;
COT_TARGET inline void move_first(size_t n, const int8_t* x, int move, uint8_t* to) {
  if (n == kMoved) return store_elements(to, load_bytes(x), move);
  int8_t some[kMoved] = {};
  uint8_t elements[kMoved * kLaneBytes / kLaneElements];
  std::memcpy(some, x, n);
  store_elements(elements, load_bytes(some), move);
  std::memcpy(to, elements, n * kLaneBytes / kLaneElements);
}
