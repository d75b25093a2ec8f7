/* FlatBuffers and frames: each offset is verified where it is followed. Numbers may lie anywhere: they are read byte by
 * byte. */

#include "device_sdk/tiny/tiny_parts.h"

static int is_inside(const tiny_reader* reader, uint64_t at, uint64_t bytes) {
  return !reader->is_bad && at <= reader->size && bytes <= reader->size - at;
}

static tiny_table table_at(tiny_reader* reader, uint64_t at) {
  tiny_table table = {NULL, 0, 0, 0, 0};
  int64_t vtable;
  table.reader = reader;
  if (!is_inside(reader, at, 4)) goto bad;
  table.at = (uint32_t)at;
  vtable = (int64_t)at - (int32_t)(uint32_t)tiny_little(reader->bytes + at, 4);
  if (vtable < 0 || !is_inside(reader, (uint64_t)vtable, 4)) goto bad;
  table.vtable = (uint32_t)vtable;
  table.vtable_bytes = (uint32_t)tiny_little(reader->bytes + vtable, 2);
  table.table_bytes = (uint32_t)tiny_little(reader->bytes + vtable + 2, 2);
  if (table.vtable_bytes < 4 || table.vtable_bytes % 2 != 0 || table.table_bytes < 4) goto bad;
  if (!is_inside(reader, table.vtable, table.vtable_bytes) || !is_inside(reader, at, table.table_bytes)) goto bad;
  return table;
bad:
  reader->is_bad = 1;
  table.vtable_bytes = 0;
  return table;
}

/* Where the field's `bytes` lie; 0: it is absent. */
static uint32_t field_at(const tiny_table* table, uint32_t field, uint32_t bytes) {
  const uint32_t entry = 4 + 2 * field;
  uint32_t offset;
  if (table->reader->is_bad || entry + 2 > table->vtable_bytes) return 0;
  offset = (uint32_t)tiny_little(table->reader->bytes + table->vtable + entry, 2);
  if (offset == 0) return 0;
  if (offset < 4 || offset > table->table_bytes || bytes > table->table_bytes - offset) {
    table->reader->is_bad = 1;
    return 0;
  }
  return table->at + offset;
}

/* What the field's offset names; 0: it is absent. */
static uint64_t target_of(const tiny_table* table, uint32_t field) {
  const uint32_t at = field_at(table, field, 4);
  return at == 0 ? 0 : at + tiny_little(table->reader->bytes + at, 4);
}

tiny_table tiny_root(tiny_reader* reader) {
  const uint64_t at = is_inside(reader, 0, 4) ? tiny_little(reader->bytes, 4) : reader->size;
  return table_at(reader, at);
}

int tiny_has(const tiny_table* table, uint32_t field) { return field_at(table, field, 1) != 0; }

uint64_t tiny_number(const tiny_table* table, uint32_t field, uint32_t bytes, uint64_t otherwise) {
  const uint32_t at = field_at(table, field, bytes);
  return at == 0 ? otherwise : tiny_little(table->reader->bytes + at, bytes);
}

const uint8_t* tiny_struct(const tiny_table* table, uint32_t field, uint32_t bytes) {
  const uint32_t at = field_at(table, field, bytes);
  if (at == 0) table->reader->is_bad = 1;
  return at == 0 ? NULL : table->reader->bytes + at;
}

const uint8_t* tiny_bytes(const tiny_table* table, uint32_t field, int is_text, uint32_t* count) {
  tiny_reader* reader = table->reader;
  const uint64_t at = target_of(table, field);
  uint64_t bytes;
  *count = 0;
  if (at == 0) return NULL;
  bytes = is_inside(reader, at, 4) ? tiny_little(reader->bytes + at, 4) : UINT64_MAX;
  if (bytes > reader->size || !is_inside(reader, at + 4, bytes + (is_text ? 1 : 0)) ||
      (is_text && reader->bytes[at + 4 + bytes] != 0)) {
    reader->is_bad = 1;
    return NULL;
  }
  *count = (uint32_t)bytes;
  return reader->bytes + at + 4;
}

tiny_table tiny_child(const tiny_table* table, uint32_t field) {
  const uint64_t at = target_of(table, field);
  if (at == 0) table->reader->is_bad = 1;
  return table_at(table->reader, at);
}

int tiny_element(const tiny_table* table, uint32_t field, uint32_t index, tiny_table* element) {
  tiny_reader* reader = table->reader;
  const uint64_t at = target_of(table, field);
  uint64_t place;
  if (at == 0) return 0;
  place = at + 4 + 4 * (uint64_t)index;
  if (!is_inside(reader, at, 4)) reader->is_bad = 1;
  if (reader->is_bad || index >= tiny_little(reader->bytes + at, 4)) return 0;
  if (!is_inside(reader, place, 4)) {
    reader->is_bad = 1;
    return 0;
  }
  *element = table_at(reader, place + tiny_little(reader->bytes + place, 4));
  return !reader->is_bad;
}

static void align(tiny_out* out, uint32_t origin, uint32_t to) {
  while ((out->used - origin) % to != 0 && !out->is_full) tiny_put_zeros(out, 1);
}

static void overwrite(tiny_out* out, uint32_t at, uint64_t number, uint32_t bytes) {
  if (!out->is_full) {
    tiny_out there = {out->bytes + at, bytes, 0, 0};
    tiny_put_little(&there, number, bytes);
  }
}

void tiny_patch_offset(tiny_out* out, uint32_t at, uint32_t target) { overwrite(out, at, target - at, 4); }

uint32_t tiny_put_table(tiny_out* out, uint32_t origin, const tiny_field* fields, uint32_t count, uint32_t* pending) {
  uint32_t slots = 0, vtable, table;
  uint32_t places[16]; /* of the fields; no message that this device writes has more */
  for (uint32_t i = 0; i < count; ++i) slots = fields[i].field >= slots ? fields[i].field + 1 : slots;
  if (count > 16 || slots > 16) out->is_full = 1;
  align(out, origin, 4);
  vtable = out->used;
  tiny_put_zeros(out, 4 + 2 * slots);
  align(out, origin, 8);
  table = out->used;
  tiny_put_little(out, table - vtable, 4);
  for (uint32_t i = 0; i < count && !out->is_full; ++i) {
    const tiny_field* field = &fields[i];
    const uint32_t bytes = field->kind < TINY_STRUCT ? field->kind : 4;
    if (field->kind != TINY_STRUCT) align(out, origin, bytes);
    places[i] = out->used;
    if (field->kind == TINY_STRUCT) tiny_put(out, field->bytes, field->count);
    else tiny_put_little(out, field->number, bytes); /* of an offset 0, for now */
    overwrite(out, vtable + 4 + 2 * field->field, places[i] - table, 2);
    if (field->kind == TINY_TABLE && pending != NULL) *pending = places[i];
  }
  overwrite(out, vtable, 4 + 2 * slots, 2);
  overwrite(out, vtable + 2, out->used - table, 2);
  for (uint32_t i = 0; i < count && !out->is_full; ++i) {
    const tiny_field* field = &fields[i];
    if (field->kind != TINY_BYTES && field->kind != TINY_TEXT) continue;
    align(out, origin, 4);
    tiny_patch_offset(out, places[i], out->used);
    tiny_put_little(out, field->count, 4);
    tiny_put(out, field->bytes, field->count);
    if (field->kind == TINY_TEXT) tiny_put_zeros(out, 1);
  }
  return table;
}

uint32_t tiny_padded(uint32_t bytes) { return (bytes + 63) & ~(uint32_t)63; }

uint32_t tiny_prelude(const uint8_t* bytes, uint32_t* header_bytes, uint64_t* payload_bytes) {
  *header_bytes = (uint32_t)tiny_little(bytes + 8, 4);
  *payload_bytes = tiny_little(bytes + 16, 8);
  if (memcmp(bytes, "COTF", 4) != 0 || tiny_little(bytes + 4, 2) != 1 || tiny_little(bytes + 12, 4) != 0) return 0;
  if (*header_bytes > (1u << 25)) return 0; /* what the protocol allows a file's header */
  return (uint32_t)tiny_little(bytes + 6, 2);
}

int tiny_open_frame(const uint8_t* bytes, uint32_t count, uint32_t kind, tiny_reader* reader) {
  uint32_t header_bytes;
  uint64_t payload_bytes;
  if (count < TINY_PRELUDE_BYTES || tiny_prelude(bytes, &header_bytes, &payload_bytes) != kind) return 0;
  if (payload_bytes != 0 || count != tiny_padded(TINY_PRELUDE_BYTES + header_bytes)) return 0;
  for (uint32_t i = TINY_PRELUDE_BYTES + header_bytes; i < count; ++i) {
    if (bytes[i] != 0) return 0;
  }
  reader->bytes = bytes + TINY_PRELUDE_BYTES;
  reader->size = header_bytes;
  reader->is_bad = 0;
  return 1;
}

void tiny_begin_frame(tiny_out* out, uint8_t* bytes, uint32_t size) {
  out->bytes = bytes;
  out->size = size;
  out->used = 0;
  out->is_full = 0;
  tiny_put_zeros(out, TINY_PRELUDE_BYTES + 4);
}

int tiny_end_frame(tiny_out* out, uint32_t kind, uint32_t table, uint64_t payload_bytes) {
  const uint32_t end = out->used;
  tiny_put_zeros(out, tiny_padded(end) - end);
  if (out->is_full) return 0;
  tiny_patch_offset(out, TINY_PRELUDE_BYTES, table);
  memcpy(out->bytes, "COTF", 4);
  overwrite(out, 4, 1, 2);
  overwrite(out, 6, kind, 2);
  overwrite(out, 8, end - TINY_PRELUDE_BYTES, 4);
  overwrite(out, 12, 0, 4);
  overwrite(out, 16, payload_bytes, 8);
  return 1;
}
