/**
 * Races of writers, compactors and readers at a store of a runtime: few unless asked for, as each takes seconds. HYPERSLAB_STORE_SCHEDULES says how
 * many, of Ceph, R2, and OPFS in a page and in a worker alike.
 */
export const storeSchedules = () => Number(process.env.HYPERSLAB_STORE_SCHEDULES ?? 1)
